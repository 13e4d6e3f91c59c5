"""Functions that surround a fork."""

import os

import pytest

from nnapi import forks


def test_hooks_surround_a_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    registered: dict[str, object] = {}
    monkeypatch.setattr(forks, "_before", [])
    monkeypatch.setattr(forks, "_after", [])
    monkeypatch.setattr(os, "register_at_fork", lambda **hooks: registered.update(hooks))
    forks.surround(lambda: calls.append("before"), lambda: calls.append("after"))
    forks.surround(lambda: calls.append("last before"), lambda: calls.append("last after"))
    assert set(registered) == {"before", "after_in_parent"}
    forks.before_fork()
    calls.append("fork")
    forks.after_fork()
    assert calls == ["last before", "before", "fork", "after", "last after"]
