"""Handles of prepared models that open none themselves, and of those with methods of the earlier form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from nnapi.contract.driver import Bound, Handle, Inference, OpenOptions, Outcome, Prepared, Request
from nnapi.contract.handles import open_handle
from nnapi.model.operand import Shape

X = np.zeros(1)
SHAPES = [(1,)]
REQUEST = Request([X])


class Plain:
    """A Prepared with nothing more than it must have, and a record of what was asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def execute(self, request: Request) -> Outcome:
        self.asked.append(("execute", request.borrow))
        return Outcome([X])

    def close(self) -> None:
        self.asked.append("close")


class Opening(Plain):
    def open_handle(self, options: OpenOptions) -> Handle:
        self.asked.append(options)
        return Handle(self.execute, self.open_handle)


class Earlier(Plain):
    """A Prepared with a fast path and sessions, as drivers had them before handles."""

    def __init__(self, *, can_bind: bool = True) -> None:
        super().__init__()
        self.sessions: list[Earlier] = []
        self.can_bind = can_bind

    def session(self) -> Prepared:
        self.sessions.append(Earlier(can_bind=self.can_bind))
        return self.sessions[-1]

    def direct(self, shapes: Sequence[Shape], borrow: bool) -> Inference:
        self.asked.append(("direct", shapes, borrow))
        return lambda inputs: [inputs[0], "direct"]  # type: ignore[list-item]

    def bind(self, shapes: Sequence[Shape]) -> Bound | None:
        self.asked.append(("bind", shapes))
        return Bound([X], lambda: ["bound"]) if self.can_bind else None  # type: ignore[list-item]


def test_a_model_opens_its_own_handles() -> None:
    prepared = Opening()
    for options in (OpenOptions(), OpenOptions(SHAPES, True, True, True)):
        open_handle(prepared, options)
        assert prepared.asked == [options]
        prepared.asked.clear()


@pytest.mark.parametrize("options", [OpenOptions(), OpenOptions(SHAPES, True, True, True)])
def test_a_model_that_can_only_execute_ignores_the_options(options: OpenOptions) -> None:
    prepared = Plain()
    handle = open_handle(prepared, options)
    again = handle.reopen(options)
    for each in (handle, again):
        assert each.execute(REQUEST).outputs == [X]
        assert (each.call, each.inputs) == (None, None)
    handle.close()
    assert prepared.asked == [("execute", False)] * 2, "closing a handle does not close the model"


def test_a_shared_handle_has_the_fast_path_of_the_earlier_form() -> None:
    prepared = Earlier()
    assert open_handle(prepared, OpenOptions(SHAPES, bind=True)).inputs is None, "memory is bound in sessions only"
    prepared.asked.clear()
    handle = open_handle(prepared, OpenOptions(SHAPES))
    assert handle.call is not None
    assert handle.call([X]) == [X, "direct"]
    assert open_handle(prepared).call is None
    assert prepared.asked == [("direct", SHAPES, False)]
    assert prepared.sessions == []
    handle.execute(REQUEST)
    handle.close()
    assert prepared.asked[1:] == [("execute", False)]


@pytest.mark.parametrize("borrow", [False, True])
def test_an_exclusive_handle_has_a_session_of_the_earlier_form(borrow: bool) -> None:
    prepared = Earlier()
    handle = open_handle(prepared, OpenOptions(SHAPES, exclusive=True, borrow=borrow))
    (session,) = prepared.sessions
    assert handle.call is not None
    assert handle.call([X]) == [X, "direct"]
    handle.execute(REQUEST)
    assert session.asked == [("direct", SHAPES, borrow), ("execute", borrow)]
    session.asked.clear()
    bound = handle.reopen(OpenOptions(SHAPES, bind=True))
    assert bound.call is not None
    assert bound.inputs == [X]
    assert bound.call(bound.inputs) == ["bound"]
    bound.execute(REQUEST)
    handle.close()
    assert session.asked == [("bind", SHAPES), ("execute", True), "close"]
    assert prepared.asked == []


def test_a_session_that_binds_no_memory_has_its_fast_path() -> None:
    prepared = Earlier(can_bind=False)
    handle = open_handle(prepared, OpenOptions(SHAPES, exclusive=True, bind=True))
    assert handle.call is not None
    assert (handle.call([X]), handle.inputs) == ([X, "direct"], None)
    assert prepared.sessions[0].asked == [("bind", SHAPES), ("direct", SHAPES, True)]


def test_the_earlier_form_is_not_asked_about_scalars_or_unknown_shapes() -> None:
    prepared = Earlier(can_bind=False)
    for shapes in (None, [()], [(1,), ()]):
        assert open_handle(prepared, OpenOptions(shapes)).call is None
    assert prepared.asked == []
