"""Models that are described when somebody asks for more than their ends."""

import gc
import threading
import weakref

import numpy as np
import pytest

from nnapi import Builder, Model, tensor
from nnapi.model.lazy_model import LazyModel


def whole() -> Model:
    b = Builder("sum")
    x = b.input(tensor("float32", (2,)), name="x")
    b.output(b.add(x, np.array([1, 2], np.float32)))
    b.model.relax_computation_float32_to_float16(True)
    return b.finish()


class Counted:
    """Describes, and counts how often."""

    def __init__(self) -> None:
        self.times = 0
        self.model = whole()

    def __call__(self) -> Model:
        self.times += 1
        return self.model


def deferred(describe: Counted) -> LazyModel:
    model = describe.model
    ends = [[model.operands[index] for index in side] for side in (model.inputs, model.outputs)]
    return LazyModel("later", *ends, describe)  # type: ignore[arg-type, call-arg]


def test_the_ends_are_there_at_once() -> None:
    describe = Counted()
    model = deferred(describe)
    assert model.is_finished
    assert (model.name, model.inputs, model.outputs) == ("later", describe.model.inputs, describe.model.outputs)
    assert [model.operands[index].name for index in (*model.inputs, *model.outputs)] == ["x", "add_0"]
    model.need_mapped()
    assert describe.times == 0


@pytest.mark.parametrize(
    "ask",
    [
        lambda model: model.operations,
        lambda model: model.notes,
        lambda model: model.relaxed,
        lambda model: len(model.operands),
        lambda model: list(model.operands),
        lambda model: model.operands[1:],
        lambda model: model.operands[1],
        lambda model: model.feature_level,
        repr,
    ],
    ids=["operations", "notes", "relaxed", "count", "operands", "slice", "constant", "level", "repr"],
)
def test_whatever_else_is_asked_for_describes_it_once(ask: object) -> None:
    describe = Counted()
    model = deferred(describe)
    assert callable(ask)
    answer = ask(model)
    assert answer == (repr(describe.model).replace("'sum'", "'later'") if ask is repr else ask(describe.model))
    assert (model.operands, model.operations) == (describe.model.operands, describe.model.operations)
    assert model.relaxed
    model.need_mapped()
    assert describe.times == 1


def test_threads_that_ask_together_describe_it_once() -> None:
    describe = Counted()
    model = deferred(describe)
    threads = [threading.Thread(target=lambda: model.operations) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert describe.times == 1


def test_what_no_model_has() -> None:
    with pytest.raises(AttributeError, match="no attribute 'weights'"):
        _ = deferred(Counted()).weights


def test_it_is_freed_without_a_garbage_collection() -> None:
    gc.disable()
    try:
        model = deferred(Counted())
        alive = weakref.ref(model)
        del model
        assert alive() is None
    finally:
        gc.enable()


def test_its_operands_may_outlive_it() -> None:
    operands = deferred(Counted()).operands
    assert [operands[0].name, len(operands)] == ["x", 4]


def test_it_permits_what_the_file_permits() -> None:
    describe = Counted()
    b = Builder("permitting")
    b.model.permit_dynamic_range(True)
    b.model.permit_rounded_states(True)
    b.output(b.relu(b.input(tensor("float32", (2,)), name="x")))
    describe.model = b.finish()
    model = deferred(describe)
    assert describe.times == 0
    assert (model.dynamic_range, model.rounded_states, model.high_ranks) == (True, True, True)
    assert describe.times == 1
