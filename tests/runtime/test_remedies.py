"""Messages for mistakes of a newcomer name the remedy; names are taken where codes are."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi.errors import BadDataError, BadStateError
from nnapi.model.memory import Memory, need_memory
from nnapi.runtime.compilation import Compilation
from nnapi.runtime.executors.deadline import read_nanoseconds
from tests.rows import each_row

ONES = np.ones((3, 4), np.float32)
MATRIX = nnapi.tensor("float32", (3, 4))
BYTES = nnapi.tensor("quant8_asymm", (3, 4), 0.5, 128)
NAME: Any = "a name"
HALF: Any = 0.5
ARRAY: Any = ONES


def _relu(type: nnapi.OperandType = MATRIX) -> nnapi.Model:
    b = nnapi.Builder()
    b.output(b.relu(b.input(type, name="x")))
    return b.finish()


def _execution() -> nnapi.Execution:
    return nnapi.Execution(nnapi.compile(_relu(), "nnapi-reference"))


def _started() -> Any:
    execution = _execution()
    execution.set_input(0, ONES)
    execution.set_output(0, ONES.copy())
    return execution.start_compute()


def _compute_twice() -> None:
    execution = _execution()
    execution.set_input(0, ONES)
    execution.set_output(0, ONES.copy())
    execution.compute()
    execution.compute()


MISTAKES: list[tuple[str, Callable[[], Any]]] = [
    ("nnapi.tensor", lambda: nnapi.Model().add_operand(NAME)),
    ("nnapi.OperationCode", lambda: nnapi.Model().add_operation(NAME, [0], [1])),
    ("0 is unspecified", lambda: nnapi.Model().add_operand(nnapi.tensor("float32", (-1, 4)))),
    ("nnapi.device", lambda: _relu().supported_operations(NAME)),
    ("Memory.from_array", lambda: nnapi.Model().set_operand_value_from_memory(0, ARRAY, 0, 4)),
    ("Memory.from_array", lambda: _execution().set_input_from_memory(0, ARRAY, 0, 48)),
    ("Memory.from_array", lambda: nnapi.copy_memory(ARRAY, Memory.from_array(ONES))),
    ("Memory.from_array", lambda: need_memory(ARRAY, "it")),
    ("Memory.from_file", lambda: Memory.from_fd(NAME, 1, 0)),
    ("give its index", lambda: _execution().set_input(NAME, ONES)),
    ("needs an array", lambda: _execution().set_input(0, [[1.0] * 4] * 3)),
    ("one of low_power, fast", lambda: Compilation(_relu()).set_preference("quick")),
    ("one of low, medium, high", lambda: Compilation(_relu()).set_priority("urgent")),
    ("of DurationCode", lambda: _execution().duration(NAME)),
    ("exactly one chosen device: name it", lambda: Compilation(_relu()).set_timeout(10)),
    ("500000000 ns", lambda: _execution().set_timeout(HALF)),
    ("500000000 ns", lambda: _execution().set_loop_timeout(HALF)),
    ("is not a Compilation", lambda: nnapi.MemoryDesc().add_input_role(ARRAY, 0)),
    ("a list of events", lambda: _execution().start_compute_with_dependencies(_started())),
    ("start_compute_with_dependencies", lambda: _started().sync_fence_fd()),
    ("500000000 ns", lambda: read_nanoseconds(HALF)),
    ("nnapi.quantize", lambda: nnapi.compile(_relu(BYTES)).run(ONES)),
]


@each_row(("remedy", "mistake"), MISTAKES)
def test_a_message_names_the_remedy(remedy: str, mistake: Callable[[], Any]) -> None:
    with pytest.raises(BadDataError, match=remedy):
        mistake()


def test_a_state_names_the_way_on() -> None:
    with pytest.raises(BadStateError, match=r"set_reusable\(True\)"):
        _compute_twice()
    with pytest.raises(BadStateError, match=r"finish\(\) it first"):
        nnapi.Execution(Compilation(_relu()))
    with pytest.raises(BadStateError, match=r"finish\(\) it first"):
        Compilation(nnapi.Model())


def test_names_are_taken_where_codes_are() -> None:
    compilation = Compilation(_relu(), "nnapi-reference")
    compilation.set_preference("low_power")
    compilation.set_priority("high")
    compilation.set_timeout(10**12)
    compilation.finish()
    assert [each.name for each in compilation.devices] == ["nnapi-reference"]


def test_inputs_by_name() -> None:
    compilation = nnapi.compile(_relu(), "nnapi-reference")
    with compilation.burst() as burst:
        assert (burst.run({"x": ONES})[0] == 1).all()
    assert (compilation.start({"x": ONES}).result()[0] == 1).all()
    assert [len(each) for each in compilation.run_many([{"x": ONES}] * 2)] == [1, 1]


def test_none_is_an_unspecified_dimension() -> None:
    assert nnapi.tensor("float32", (None, 4)) == nnapi.tensor("float32", (0, 4))
    assert nnapi.tensor("float32", None) == nnapi.tensor("float32")


def test_a_fenced_computation_needs_no_dependency() -> None:
    execution, out = _execution(), np.empty((3, 4), np.float32)
    execution.set_input(0, ONES)
    execution.set_output(0, out)
    execution.start_compute_with_dependencies().wait()
    assert (out == 1).all()


def test_floats_become_stored_values_and_back() -> None:
    stored = nnapi.quantize(BYTES, ONES * 0.7)
    assert stored.dtype == np.uint8
    assert (stored == 129).all()
    assert (nnapi.dequantize(BYTES, stored) == 0.5).all()
