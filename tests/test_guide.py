"""The example of the NNAPI guide: (x + trained1) * trained2 on 3×4 floats, trained values in a mapped file."""

import mmap
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import nnapi
from nnapi import Compilation, Execution, Memory, Model, OperationCode, tensor
from nnapi.model.operand import Array
from tests.graphs import number

MATRIX = tensor("float32", (3, 4))
SIZE = MATRIX.nbytes
ADDED = np.arange(12, dtype=np.float32).reshape(3, 4) - 5
FACTOR = np.arange(12, dtype=np.float32).reshape(3, 4) / 4
OFFSET = 24  # what precedes the trained values in the file; no page bound, no multiple of their alignment


@pytest.fixture
def trained(tmp_path: Path) -> Memory:
    """The trained values, mapped from the file; the caller's descriptor is closed and the file is gone."""
    path = tmp_path / "trained"
    path.write_bytes(b"\0" * OFFSET + ADDED.tobytes() + FACTOR.tobytes() + b"the end")
    with path.open("rb") as file:
        memory = Memory.from_fd(2 * SIZE, mmap.PROT_READ, file.fileno(), OFFSET)
    path.unlink()
    return memory


@pytest.fixture
def compilation(trained: Memory) -> Compilation:
    model = Model("guide")
    x, added, total, factor, y = (model.add_operand(MATRIX) for _ in range(5))
    model.set_operand_value_from_memory(added, trained, 0, SIZE)
    model.set_operand_value_from_memory(factor, trained, SIZE, SIZE)
    none = number(model, nnapi.FuseCode.FUSED_NONE)
    model.add_operation(OperationCode.ADD, [added, x, none], [total])
    model.add_operation(OperationCode.MUL, [factor, total, none], [y])
    model.identify_inputs_and_outputs([x], [y])
    model.finish()
    compilation = Compilation(model, [nnapi.device("nnapi-reference")])
    compilation.set_preference(nnapi.PreferenceCode.PREFER_LOW_POWER)
    compilation.finish()
    return compilation


def given(seed: int) -> Array:
    return np.random.default_rng(seed).integers(-100, 100, (3, 4)).astype(np.float32)


def right(x: Array) -> Array:
    """Small numbers in binary: exact whatever the order of the operations."""
    return FACTOR * (ADDED + x)


def in_threads(count: int, work: Callable[[int], None]) -> None:
    """Do the work that many times at once; what goes wrong in a thread goes wrong here."""
    failures: list[BaseException] = []

    def guarded(seed: int) -> None:
        try:
            work(seed)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(seed,)) for seed in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def test_the_trained_values_are_not_copied(compilation: Compilation, trained: Memory) -> None:
    for index, values in ((1, ADDED), (3, FACTOR)):
        constant = compilation.model.operands[index].value
        assert np.array_equal(constant, values)
        assert np.shares_memory(constant, trained.view())


def test_a_run_that_is_waited_for(compilation: Compilation) -> None:
    x, y = given(1), np.empty((3, 4), np.float32)
    execution = Execution(compilation)
    execution.set_input(0, x)
    execution.set_output(0, y)
    execution.compute()
    assert np.array_equal(y, right(x))


def test_a_run_in_the_background_with_shared_memory(compilation: Compilation, tmp_path: Path) -> None:
    x, path = given(2), tmp_path / "shared"
    path.write_bytes(x.tobytes() + bytes(SIZE))
    with path.open("r+b") as file:
        shared = Memory.from_fd(2 * SIZE, mmap.PROT_READ | mmap.PROT_WRITE, file.fileno())
    execution = Execution(compilation)
    execution.set_input_from_memory(0, shared, 0, SIZE)
    execution.set_output_from_memory(0, shared, SIZE, SIZE)
    event = execution.start_compute()
    event.wait()
    event.close()
    assert path.read_bytes() == x.tobytes() + right(x).tobytes()


def test_arrays_in_arrays_out(compilation: Compilation) -> None:
    x = given(3)
    with compilation.burst() as burst:
        for run in (compilation.run, burst.run, lambda x: compilation.start(x).result()):
            assert np.array_equal(run(x)[0], right(x))


def test_several_threads_wait_for_one_event(compilation: Compilation) -> None:
    x, y = given(4), np.zeros((3, 4), np.float32)
    execution = Execution(compilation)
    execution.set_input(0, x)
    execution.set_output(0, y)
    event = execution.start_compute()

    def wait(_: int) -> None:
        event.wait()
        assert np.array_equal(y, right(x))

    in_threads(8, wait)


def test_one_model_is_compiled_and_run_by_eight_threads(compilation: Compilation) -> None:
    def compile_and_run(seed: int) -> None:
        own = nnapi.compile(compilation.model)
        for turn in range(20):
            x, y = given(100 * seed + turn), np.empty((3, 4), np.float32)
            for shared in (own, compilation):
                execution = Execution(shared)
                execution.set_input(0, x)
                execution.set_output(0, y)
                execution.compute() if turn % 2 else execution.start_compute().wait()
                assert np.array_equal(y, right(x))

    in_threads(8, compile_and_run)
