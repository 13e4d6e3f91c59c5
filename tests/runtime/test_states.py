"""Bursts that keep states between their runs."""

import numpy as np
import pytest

import nnapi
from nnapi.errors import BadStateError
from nnapi.runtime.compilation import Compilation
from nnapi.runtime.states import Stateful, StatefulBurst, States
from nnapi.trace.spans import recording
from tests.tflite_writer import write
from tests.variable_cases import running_sum

ONE = np.array([1, 2], np.float32)
DEVICES = ["nnapi-reference", pytest.param("xnnpack-cpu", marks=pytest.mark.engine)]


def compiled(device: str = "nnapi-reference", start: float = 0) -> Compilation:
    chosen: nnapi.Device | str = device
    if device == "xnnpack-cpu":
        pytest.importorskip("ai_edge_litert")
        from nnapi.drivers.xnnpack import XnnpackDriver

        chosen = nnapi.Device(XnnpackDriver())
    return nnapi.compile(nnapi.load(write(*running_sum(start))), [chosen])


@pytest.mark.parametrize("borrow", [False, True])
@pytest.mark.parametrize("device", DEVICES)
def test_a_burst_keeps_states(device: str, borrow: bool) -> None:
    compilation = compiled(device, start=5)
    with compilation.burst(borrow=borrow) as burst, compilation.burst() as other:
        assert [burst.run(ONE)[0].tolist() for _ in range(3)] == [[6, 7], [7, 9], [8, 11]]
        assert other.run(ONE)[0].tolist() == [6, 7]
        assert compilation.run(ONE)[0].tolist() == [6, 7]


def names(compilation: Compilation) -> list[str]:
    return [info.name for info in compilation.model.input_info]


def test_inputs_by_name() -> None:
    compilation = compiled()
    (name,) = names(compilation)
    with compilation.burst() as burst:
        assert [burst.run({name: ONE})[0].tolist() for _ in range(2)] == [[1, 2], [2, 4]]


@pytest.mark.parametrize("device", DEVICES)
def test_bound_memory_and_other_runs_continue_from_the_same_states(device: str) -> None:
    with compiled(device).burst(borrow=True) as burst:
        first, second = burst.bind((2,)), burst.bind((2,))
        assert len(first.inputs) == 1
        for bound in (first, second):
            bound.inputs[0][:] = ONE
        found = [run()[0].tolist() for run in (first.run, first.run, first.run, second.run, second.run, first.run)]
        assert found == [[1, 2], [2, 4], [3, 6], [4, 8], [5, 10], [6, 12]]
        assert burst.run(ONE)[0].tolist() == [7, 14]
        assert first.run()[0].tolist() == [8, 16]


@pytest.mark.parametrize("device", DEVICES)
def test_binding_memory_keeps_the_states_of_runs_before(device: str) -> None:
    with compiled(device).burst() as burst:
        assert [burst.run(ONE)[0].tolist() for _ in range(3)] == [[1, 2], [2, 4], [3, 6]]
        first = burst.bind((2,))
        first.inputs[0][:] = ONE
        assert first.run()[0].tolist() == [4, 8]
        second = burst.bind((2,))
        second.inputs[0][:] = ONE
        assert second.run()[0].tolist() == [5, 10]
        assert burst.run(ONE)[0].tolist() == [6, 12]


@pytest.mark.parametrize("borrow", [False, True])
def test_results_of_runs_are_new_arrays_unless_they_are_borrowed(borrow: bool) -> None:
    with compiled().burst(borrow=borrow) as burst:
        found = [burst.run(ONE)[0] for _ in range(4)]
        assert found[-1].tolist() == [4, 8]
        assert borrow or [array.tolist() for array in found] == [[1, 2], [2, 4], [3, 6], [4, 8]]


def test_inputs_that_need_conversion_are_run_too() -> None:
    with compiled().burst() as burst:
        found = [burst.run(x)[0].tolist() for x in (ONE, [1, 2], ONE, ONE)]
        assert found == [[1, 2], [2, 4], [3, 6], [4, 8]]
        with pytest.raises(nnapi.BadDataError, match="takes"):
            burst.run(ONE, ONE)
        assert burst.run(ONE)[0].tolist() == [5, 10]


def test_traced_runs_keep_states() -> None:
    with compiled().burst() as burst:
        bound = burst.bind((2,))
        bound.inputs[0][:] = ONE
        with recording():
            assert burst.run(ONE)[0].tolist() == [1, 2]
            assert bound.run()[0].tolist() == [2, 4]
        assert bound.run()[0].tolist() == [3, 6]


def test_bursts_that_share_states_continue_from_each_other_also_after_one_is_closed() -> None:
    stateful, states = Stateful(compiled(start=1).model), States()
    lasting = nnapi.compile(stateful.model, ["nnapi-reference"])
    one, two = (StatefulBurst(stateful, lasting, states) for _ in range(2))
    bound = [burst.bind((2,)) for burst in (one, two)]
    for each in bound:
        each.inputs[0][:] = ONE
    assert [each.run()[0].tolist() for each in (*bound, *bound)] == [[2, 3], [3, 5], [4, 7], [5, 9]]
    two.close()
    assert bound[0].run()[0].tolist() == [6, 11]


def test_a_burst_in_use_by_another_thread() -> None:
    with compiled().burst() as burst:
        burst.take()
        with pytest.raises(BadStateError, match="in use by another thread"):
            burst.run(ONE)
        burst.release()
        assert burst.run(ONE)[0].tolist() == [1, 2]


def test_the_model_with_states_is_a_pure_function() -> None:
    stateful = Stateful(nnapi.load(write(*running_sum(3))))
    assert (len(stateful.model.inputs), len(stateful.model.outputs), stateful.model.states) == (2, 2, ())
    assert {name: value.tolist() for name, value in stateful.initial.items()} == {"total": [3, 3]}
    run = nnapi.compile(stateful.model, ["nnapi-reference"]).run
    assert [array.tolist() for array in run(ONE, np.array([10, 20], np.float32))] == [[11, 22], [11, 22]]


def test_closing_the_compilation_ends_its_bursts_compilation() -> None:
    compilation = compiled()
    burst = compilation.burst()
    assert burst.compilation is not compilation
    compilation.close()
    with pytest.raises(BadStateError):
        compilation.burst()
    assert burst.run(ONE)[0].tolist() == [1, 2]
    burst.close()
