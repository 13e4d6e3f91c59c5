"""Methods that wrappers of prepared models forward, and resources that they must not close."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nnapi.contract.driver import Bound, Inference, Outcome, Prepared, Request, Sessions
from nnapi.contract.wrapping import Borrowed, Wrapping, find_bound, find_direct, open_session
from nnapi.model.operand import Shape


class Plain:
    """A Prepared with nothing more than it must have, and a record of what was asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def execute(self, request: Request) -> Outcome:
        self.asked.append("execute")
        return Outcome([np.zeros(1)])

    def close(self) -> None:
        self.asked.append("close")


class Rich(Plain):
    """A Prepared with sessions, a fast path and memory."""

    def session(self) -> Prepared:
        self.asked.append("session")
        return Rich()

    def direct(self, shapes: Sequence[Shape], borrow: bool) -> Inference:
        self.asked.append(("direct", shapes, borrow))
        return list

    def bind(self, shapes: Sequence[Shape]) -> Bound:
        self.asked.append(("bind", shapes))
        return Bound([], list)


class Counted(Wrapping):
    """A wrapper that changes nothing but its type."""

    def wrap(self, session: Prepared) -> Prepared:
        return Counted(session)


REQUEST = Request([], None, 0)


def test_everything_is_forwarded() -> None:
    inner = Rich()
    wrapper = Counted(inner)
    wrapper.execute(REQUEST)
    assert wrapper.direct([(1,)], True) is list
    assert wrapper.bind([(1,)]) == Bound([], list)
    session = wrapper.session()
    wrapper.close()
    assert inner.asked == ["execute", ("direct", [(1,)], True), ("bind", [(1,)]), "session", "close"]
    assert isinstance(session, Counted)
    assert isinstance(session.inner, Rich)


def test_what_is_not_there_is_not_found() -> None:
    plain = Plain()
    assert find_direct(plain, [(1,)], False) is None
    assert find_bound(plain, [(1,)]) is None
    assert Wrapping(plain).direct([(1,)], False) is None


def test_a_session_of_what_has_none_is_borrowed() -> None:
    plain = Plain()
    assert not isinstance(plain, Sessions)
    session = open_session(plain)
    session.execute(REQUEST)
    session.close()
    assert plain.asked == ["execute"]


def test_borrowed_memory_is_not_bound() -> None:
    rich = Rich()
    assert Borrowed(rich).bind([(1,)]) is None
    assert rich.asked == []
