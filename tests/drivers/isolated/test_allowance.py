"""The limits of an application of a service."""

import errno
import io
import os
import resource
from pathlib import Path
from typing import Any

import pytest

from nnapi.drivers.isolated import allowance as allowance_module
from nnapi.drivers.isolated import process_limits
from nnapi.drivers.isolated.allowance import UNLIMITED, Allowance
from nnapi.errors import BadDataError, OutOfMemoryError, ResourceExhaustedPersistentError

THREE = "the service allows an application 3 MiB (nnapi serve --memory)"


@pytest.mark.parametrize("name", ["memory", "models", "threads", "descriptors", "seconds"])
def test_each_limit_is_positive(name: str) -> None:
    limits = Allowance(memory=1, models=1, threads=1, descriptors=1, seconds=0.5)
    limits.check()
    for value in (0, -1):
        with pytest.raises(BadDataError, match=f"^{name} is {value}, must be above 0$"):
            limits._replace(**{name: value}).check()


def test_the_usual_limits() -> None:
    limits = Allowance()
    assert limits.memory <= 4 << 30
    assert (limits.models, limits.descriptors, limits.seconds) == (256, 1024, 120.0)
    assert limits.threads > 64


@pytest.mark.parametrize(("number", "is_permitted"), [(0, True), (4, True), (5, False), (6, False)])
def test_a_limit_is_a_maximum(number: int, is_permitted: bool) -> None:
    limits = Allowance(models=5)
    if is_permitted:
        limits.need_fewer(number, "models")
        return
    words = f"this application has {number} models, as many as the service allows one (nnapi serve --models)"
    with pytest.raises(ResourceExhaustedPersistentError) as caught:
        limits.need_fewer(number, "models")
    assert str(caught.value) == words


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (
            OSError(errno.EMFILE, "none left"),
            ResourceExhaustedPersistentError,
            "no descriptor is left: the service allows an application 7 (nnapi serve --descriptors)",
        ),
        (
            MemoryError(),
            OutOfMemoryError,
            f"no memory is left: {THREE}",
        ),
        (OSError(errno.ENOENT, "no file"), OSError, "[Errno 2] no file"),
        (ValueError("wrong"), ValueError, "wrong"),
    ],
)
def test_the_limit_behind_an_error(error: Exception, kind: type[Exception], words: str) -> None:
    found = Allowance(memory=(4 << 20) - 1, descriptors=7).explain(error)
    assert str(found) == words
    assert isinstance(found, kind)
    assert UNLIMITED.explain(error) is error


INFINITE = resource.RLIM_INFINITY


@pytest.mark.parametrize(
    ("hard", "descriptors", "core"), [(INFINITE, 100, 0), (4096, 100, 0), (99, 99, 0), (100, 100, 0), (0, 0, 0)]
)
def test_limits_of_this_process(monkeypatch: pytest.MonkeyPatch, hard: int, descriptors: int, core: int) -> None:
    set_to: list[Any] = []
    score = io.StringIO()
    monkeypatch.setattr(score, "close", lambda: None)
    monkeypatch.setattr(allowance_module, "open", lambda *args: score if args[1:] == ("w",) else None, raising=False)
    monkeypatch.setattr(allowance_module, "private_bytes", lambda: 1000)
    monkeypatch.setattr(allowance_module, "limit_memory", set_to.append)
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (5, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda kind, limits: set_to.append((kind, limits)))
    Allowance(memory=50, descriptors=100).enforce()
    assert set_to == [
        1050,
        (resource.RLIMIT_NOFILE, (descriptors, descriptors)),
        (resource.RLIMIT_CORE, (core, core)),
    ]
    assert score.getvalue() == "500"


def test_a_system_without_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise FileNotFoundError

    done: list[object] = []
    monkeypatch.setattr(allowance_module, "open", fail, raising=False)
    monkeypatch.setattr(allowance_module, "private_bytes", lambda: 0)
    monkeypatch.setattr(allowance_module, "limit_memory", done.append)
    monkeypatch.setattr(resource, "setrlimit", lambda *_: done.append(1))
    Allowance().enforce()
    assert len(done) == 3


def test_private_bytes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    status = tmp_path / "status"
    status.write_text("Name:\tpython\nVmSize:\t  9000 kB\nVmData:\t  1234 kB\nVmStk:\t  132 kB\n")
    monkeypatch.setattr(allowance_module, "open", lambda path: status.open(), raising=False)
    assert allowance_module.private_bytes() == 1234 * 1024


@pytest.mark.parametrize(("hard", "limit"), [(INFINITE, 300), (299, 299), (300, 300), (301, 300)])
def test_memory_is_limited_within_the_limit_of_the_system(
    monkeypatch: pytest.MonkeyPatch, hard: int, limit: int
) -> None:
    set_to: list[Any] = []
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (5, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda kind, limits: set_to.append((kind, limits)))
    process_limits.limit_memory(300)
    assert set_to == [(resource.RLIMIT_DATA, (limit, limit))]


@pytest.mark.parametrize(("own", "more", "nice"), [(0, 3, 3), (5, 10, 15), (12, 10, 19), (0, 0, 0)])
def test_all_threads_get_a_lower_priority(monkeypatch: pytest.MonkeyPatch, own: int, more: int, nice: int) -> None:
    set_to: list[tuple[int, int, int]] = []

    def set_priority(*args: int) -> None:
        set_to.append(args)  # type: ignore[arg-type]
        if args[1] == 12:
            raise ProcessLookupError

    monkeypatch.setattr(os, "getpriority", lambda which, who: own + 100 * which + who)
    monkeypatch.setattr(os, "setpriority", set_priority)
    monkeypatch.setattr(os, "listdir", lambda path: ["11", "12", "13"])
    process_limits.lower_priority(more)
    assert set_to == [(0, thread, nice) for thread in (11, 12, 13)]
