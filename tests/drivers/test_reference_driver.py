"""The reference as a driver: shapes known late, programs kept, what results may not be, time limits."""

import gc
import time
import weakref
from typing import Any

import numpy as np
import pytest

from nnapi import Model, OperandCode, OperandType, OperationCode, device, tensor
from nnapi.codes import DeviceTypeCode
from nnapi.contract import shape_cache
from nnapi.contract.driver import Capabilities, Driver, PrepareOptions, Request
from nnapi.drivers.reference import program as program_module
from nnapi.drivers.reference.program import PreparedReference
from nnapi.errors import BadDataError, MissedDeadlinePersistentError, MissedDeadlineTransientError, OpFailedError
from nnapi.model.builder import Builder
from tests.graphs import finished

OPEN = tensor("float32", (0, 2))
PAIR = tensor("float32", (2,))
ONES = np.ones((3, 2), np.float32)


def run(prepared: PreparedReference, *inputs: Any, **options: Any) -> list[Any]:
    arrays = [None if value is None else np.asarray(value) for value in inputs]
    return list(prepared.execute(Request(arrays, **options)).outputs)


def doubling(type: OperandType = OPEN) -> PreparedReference:
    b = Builder()
    b.output(b.mul(b.input(type), 2.0, out=type))
    return PreparedReference(b.finish())


def programs(prepared: PreparedReference) -> list[Any]:
    return [value for value in prepared._programs._made.values() if not isinstance(value, Exception)]


def test_a_driver_that_declares_no_figures_is_as_fast_as_the_reference() -> None:
    assert Capabilities() == device("nnapi-reference").driver.capabilities()
    assert set(Capabilities().default) == {1.0}


def test_it_is_a_driver_like_any_other() -> None:
    driver = device("nnapi-reference").driver
    assert isinstance(driver, Driver)
    assert (driver.info.type, driver.info.feature_level) == (DeviceTypeCode.DEVICE_CPU, 8)
    b = Builder()
    b.output(b.relu(b.input(PAIR)))
    prepared = driver.prepare(b.finish(), PrepareOptions())
    assert prepared.execute(Request([np.array([-1, 1], np.float32)])).outputs[0].tolist() == [0, 1]
    prepared.close()


# Shapes


def test_shapes_declared_in_full_are_worked_out_once() -> None:
    prepared = doubling(PAIR)
    (made,) = programs(prepared)
    assert [step is not None for _, step in made.steps] == [True]
    run(prepared, ONES[0])
    assert programs(prepared) == [made]


def test_a_program_for_each_set_of_shapes() -> None:
    prepared = doubling()
    assert programs(prepared) == []
    for rows in (1, 2, 1, 2, 3):
        assert np.array_equal(run(prepared, ONES[:rows])[0], 2 * ONES[:rows])
    assert len(programs(prepared)) == 3


def test_programs_are_kept_within_bounds_the_last_used_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shape_cache, "MOST_BYTES", 10 << 20)
    prepared = doubling()
    first = np.ones((1, 2), np.float32)
    run(prepared, first)
    (made,) = programs(prepared)
    for rows in range(2, 30):
        run(prepared, np.ones((rows, 2), np.float32))
        run(prepared, first)
    assert len(programs(prepared)) == 9
    assert made in programs(prepared)


def test_closing_gives_the_programs_back() -> None:
    prepared = doubling(PAIR)
    prepared.close()
    assert programs(prepared) == []


def test_dimensions_that_depend_on_the_data() -> None:
    """Operations after one with dynamic dimensions are specialized when those are known."""
    b = Builder()
    x, size = b.input(tensor("float32", (3, 2))), b.input(tensor("int32", (2,)))
    part = b.slice(x, [0, 0], size, out=OPEN)
    b.output(b.add(part, [10.0, 20.0], out=OPEN))
    prepared = PreparedReference(b.finish())
    for rows in (1, 3):
        assert run(prepared, ONES, np.array([rows, -1], np.int32))[0].tolist() == [[11, 21]] * rows


def test_unknown_rank() -> None:
    b = Builder()
    x, shape = b.input(tensor("float32")), b.input(tensor("int32", (0,)))
    b.output(b.reshape(x, shape))
    prepared = PreparedReference(b.finish())
    assert run(prepared, ONES, np.array([6], np.int32))[0].shape == (6,)
    assert run(prepared, ONES, np.array([1, 3, 2], np.int32))[0].shape == (1, 3, 2)


def test_omitted_inputs_make_a_program_of_their_own() -> None:
    b = Builder()
    b.output(b.transpose(b.input(OPEN), b.input(tensor("int32", (2,)))))
    prepared = PreparedReference(b.finish())
    assert run(prepared, ONES, None)[0].shape == (2, 3)
    assert run(prepared, ONES, np.array([0, 1], np.int32))[0].shape == (3, 2)


# Failures


def test_a_model_that_cannot_run_fails_when_it_runs_each_time_anew() -> None:
    model = Model()
    x, y, beta = (model.add_operand(type) for type in (PAIR, PAIR, OperandType(OperandCode.FLOAT32)))
    model.set_operand_value(beta, -1.0)
    model.add_operation(OperationCode.SOFTMAX, [x, beta], [y])
    prepared = PreparedReference(finished(model, [x], [y]))
    errors = []
    for _ in range(3):
        with pytest.raises(OpFailedError, match=r"SOFTMAX \(#0\): beta is -1.0, must be above 0") as caught:
            run(prepared, ONES[0])
        errors.append(caught.value)
    assert len({id(error) for error in errors}) == 3
    assert len(caught.traceback) < 10  # the frames of earlier runs are not kept


def test_failures_do_not_keep_the_arrays_of_the_run() -> None:
    b = Builder()
    b.output(b.gather(b.input(tensor("float32", (0,))), 0, [9]))
    prepared = PreparedReference(b.finish())
    array = np.ones(3, np.float32)
    kept = weakref.ref(array)
    with pytest.raises(OpFailedError, match="GATHER"):
        prepared.execute(Request([array]))
    del array
    gc.collect()
    assert kept() is None


@pytest.mark.parametrize(
    ("code", "error"),
    [(OperationCode.RELU, OpFailedError), (OperationCode.EXP, OpFailedError), (OperationCode.CAST, BadDataError)],
)
def test_rule_130_an_operand_omitted_that_is_needed(code: OperationCode, error: type[Exception]) -> None:
    model = Model()
    x, y = model.add_operand(PAIR), model.add_operand(PAIR)
    model.add_operation(code, [x], [y])
    with pytest.raises(error, match=rf"{code.name} \(#0\): input is omitted, but needed"):
        run(PreparedReference(finished(model, [x], [y])), None)


def test_rule_131_bad_values_fail_when_computing() -> None:
    model = Model()
    x, axis, y = (model.add_operand(type) for type in (PAIR, OperandType(OperandCode.INT32), tensor("int32")))
    model.add_operation(OperationCode.ARGMAX, [x, axis], [y])
    prepared = PreparedReference(finished(model, [x, axis], [y]))
    assert run(prepared, ONES[0], np.int32(-1))[0].shape == (1,)
    with pytest.raises(OpFailedError, match=r"ARGMAX \(#0\): axis is 7, must be in"):
        run(prepared, ONES[0], np.int32(7))


# Results


def outputs_of(build: Any, *inputs: Any) -> tuple[list[Any], list[Any]]:
    b = Builder()
    given = [b.input(tensor(str(value.dtype), value.shape)) for value in inputs]
    b.output(*build(b, *given))
    model = b.finish()
    constants = [operand.value for operand in model.operands if isinstance(operand.value, np.ndarray)]
    return run(PreparedReference(model), *inputs), [*inputs, *constants]


@pytest.mark.parametrize(
    "build",
    [
        lambda b, x: [b.reshape(x, [6])],
        lambda b, x: [b.transpose(x), b.slice(x, [0, 0], [3, 2])],
        lambda b, x: [b.reshape(np.ones((2, 3), np.float32), [6])],
        lambda b, x: [b.cast(x, out="float32"), b.floor(x)],
        lambda b, x: [*b.split(x, 0, 3)],
        lambda b, x: [*b.split(x, 0, 1)],
        lambda b, x: [b.squeeze(b.expand_dims(x, 0)), b.reshape(x, [3, 2]), b.reshape(x, [2, 3])],
        lambda b, x: [b.concatenation(x, axis=0), b.tile(x, [1, 1]), b.pad(x, [[0, 0], [0, 0]])],
        lambda b, x: [b.max_pool_2d(b.reshape(x, [1, 3, 2, 1]), "valid", 1, 1, 1, 1, "relu")],
        lambda b, x: [
            b.depth_to_space(b.reshape(x, [1, 3, 2, 1]), 1),
            b.strided_slice(x, [0, 0], [3, 2], [1, 1], 0, 0, 0),
        ],
    ],
)
def test_results_share_no_memory(build: Any) -> None:
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    results, given = outputs_of(build, x)
    assert x.reshape(-1).tolist() == [0, 1, 2, 3, 4, 5]
    for position, result in enumerate(results):
        assert result.flags.c_contiguous
        assert result.flags.writeable
        for other in (*given, *results[:position]):
            assert not np.shares_memory(result, other)


def test_state_and_output_of_a_cell_are_two_arrays() -> None:
    b = Builder()
    state, output = b.rnn(
        b.input(PAIR.with_dimensions((1, 2))), np.ones((2, 2)), np.eye(2), np.zeros(2), np.zeros((1, 2)), 0
    )
    b.output(state, output)
    first, second = run(PreparedReference(b.finish()), ONES[:1])
    assert np.array_equal(first, second)
    assert not np.shares_memory(first, second)


def test_arrays_that_nobody_may_write_to_are_taken() -> None:
    frozen = ONES[0].copy()
    frozen.flags.writeable = False
    b = Builder()
    x = b.input(PAIR)
    b.output(b.add(x, x, "relu"), b.mul(x, 2.0, "relu6"))
    assert [result.tolist() for result in run(PreparedReference(b.finish()), frozen)] == [[2, 2], [2, 2]]


# Time limits


def chained(count: int) -> PreparedReference:
    b = Builder()
    x = b.input(PAIR)
    for _ in range(count):
        x = b.add(x, 1.0)
    b.output(x)
    return PreparedReference(b.finish())


def test_rule_120_a_limit_that_passed_before_the_start() -> None:
    with pytest.raises(MissedDeadlinePersistentError, match="the time limit passed before the computation began"):
        run(chained(1), ONES[0], deadline=time.monotonic_ns() - 1)
    assert run(chained(1), ONES[0], deadline=time.monotonic_ns() + 10**12)[0].tolist() == [2, 2]


def test_rule_120_a_limit_that_passes_between_operations(monkeypatch: pytest.MonkeyPatch) -> None:
    class Clock:
        now = 0

        def monotonic_ns(self) -> int:
            self.now += 10
            return self.now

    prepared = chained(5)
    clock = Clock()
    monkeypatch.setattr(program_module, "time", clock)
    monkeypatch.setattr("nnapi.contract.prepared.time", clock)
    with pytest.raises(MissedDeadlineTransientError, match=r"the time limit passed before ADD \(#2\)"):
        run(prepared, ONES[0], deadline=30)  # looked at before the run and before each operation
