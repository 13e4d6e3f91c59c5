"""The process of a driver: which driver it finds, and what limits it sets first."""

import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from nnapi.drivers.isolated import child
from nnapi.errors import UnavailableDeviceError
from nnapi.host.installed_packages import Entry
from tests.drivers.isolated.isolated_cases import Misbehaving, asking

CASES = "tests.drivers.isolated.isolated_cases"
FREE = {"memory": None, "network": True, "files": True}


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """The limits that the process sets, in order."""
    found: list[Any] = []
    path = [*sys.path]
    monkeypatch.setattr(child, "limit_memory", lambda size: found.append(f"memory {size}"))
    monkeypatch.setattr(child, "forbid", lambda **kinds: found.append(kinds))
    monkeypatch.setattr(child, "lower_priority", lambda nice: found.append(f"nice {nice}"))
    monkeypatch.setattr(child.gc, "freeze", lambda: found.append("freeze"))  # type: ignore[attr-defined]
    yield found
    sys.path[:] = path


def body(device: str = "", entry: str = "", pickle: str = "", nice: int = 0, **limits: Any) -> dict[str, Any]:
    return {
        "device": device,
        "entry": entry,
        "pickle": pickle,
        "nice": nice,
        "path": [*sys.path, "/added"],
        "limits": FREE | limits,
    }


@pytest.mark.parametrize(
    ("limits", "nice", "expected"),
    [
        ({}, 0, ["nice 0", "freeze"]),
        ({"memory": 5}, 3, ["memory 5", "nice 3", "freeze"]),
        ({"memory": 0}, 3, ["memory 0", "nice 3", "freeze"]),
        ({"network": False}, 0, [{"sockets": True, "writing": False}, "nice 0", "freeze"]),
        ({"files": False}, 0, [{"sockets": False, "writing": True}, "nice 0", "freeze"]),
        (
            {"network": False, "files": False, "memory": 9},
            10,
            ["memory 9", {"sockets": True, "writing": True}, "nice 10", "freeze"],
        ),
    ],
)
def test_limits_come_before_the_driver(done: list[Any], limits: dict[str, Any], nice: int, expected: list[Any]) -> None:
    found = child.find_driver(body(entry=f"{CASES}:asking", nice=nice, **limits))
    assert found.info.name == "misbehaving"
    assert done == expected
    assert sys.path[-1] == "/added"


@pytest.mark.parametrize("device", ["", "misbehaving"])
@pytest.mark.parametrize("source", [Misbehaving("", ""), asking])
def test_a_pickled_driver(done: list[Any], source: Any, device: str) -> None:
    import pickle

    found = child.find_driver(body(device, pickle=pickle.dumps(source).hex()))
    assert isinstance(found, Misbehaving)
    with pytest.raises(UnavailableDeviceError, match="^no driver of other is installed$"):
        child.find_driver(body("other", pickle=pickle.dumps(source).hex()))


class Numbered(Misbehaving):
    """A driver of one device of several."""

    def __init__(self, name: str) -> None:
        super().__init__("", "")
        self.name = name

    @property
    def info(self) -> Any:
        return super().info._replace(name=self.name)


def several() -> list[Numbered]:
    return [Numbered(f"device {number}") for number in range(3)]


def broken() -> Misbehaving:
    raise RuntimeError("no engine here")


@pytest.mark.parametrize(("device", "name"), [("", "device 0"), ("device 2", "device 2")])
def test_one_of_several_devices(done: list[Any], device: str, name: str) -> None:
    assert child.find_driver(body(device, entry=f"{__name__}:several")).info.name == name
    with pytest.raises(UnavailableDeviceError, match="^no driver of device 3 is installed$"):
        child.find_driver(body("device 3", entry=f"{__name__}:several"))


def test_the_entry_of_that_name_comes_first(done: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Others are loaded only if it has no such device."""
    loaded: list[str] = []
    inner = Entry.load

    def load(entry: Entry) -> Any:
        loaded.append(entry.name)
        return inner(entry)

    installed = [
        Entry(name, f"{__name__}:{value}") for name, value in (("a", "broken"), ("b", "several"), ("z", "broken"))
    ]
    monkeypatch.setattr(child, "find_entries", lambda group: installed if group == "nnapi.drivers" else [])
    monkeypatch.setattr(Entry, "load", load)
    assert child.find_driver(body("device 1")).info.name == "device 1"
    assert loaded == ["a", "b"]
    loaded.clear()
    with pytest.raises(
        UnavailableDeviceError,
        match=r"^no driver of z is installed; it cannot be loaded: RuntimeError\('no engine here'\)$",
    ):
        child.find_driver(body("z"))
    assert loaded == ["z", "a", "b"]
    with pytest.raises(UnavailableDeviceError, match="^no driver of other is installed$"):
        child.find_driver(body("other"))


@pytest.mark.parametrize(("is_own", "number"), [(True, 6), (False, 15)])
def test_an_abort_from_another_process(monkeypatch: pytest.MonkeyPatch, is_own: bool, number: int) -> None:
    """It ends the process by SIGTERM, which is not blamed on an operation."""
    sender = 44 if is_own else 55
    ended: list[int] = []
    written: list[tuple[int, bytes]] = []

    class Aborted(BaseException):
        pass

    def abort() -> None:
        ended.append(6)
        raise Aborted

    monkeypatch.setattr(child.signal, "sigwaitinfo", lambda signals: type("Info", (), {"si_pid": sender}))  # type: ignore[attr-defined]
    monkeypatch.setattr(child.os, "getpid", lambda: 44)  # type: ignore[attr-defined]
    monkeypatch.setattr(child.os, "abort", abort)  # type: ignore[attr-defined]
    monkeypatch.setattr(child.os, "kill", lambda pid, signal: ended.append(signal if pid == 44 else 0))  # type: ignore[attr-defined]
    monkeypatch.setattr(child.os, "write", lambda *written_to: written.append(written_to))  # type: ignore[attr-defined]
    with suppress(Aborted):
        child._await_abort()
    assert ended == [number]
    assert written == ([] if is_own else [(2, b"SIGABRT came from process 55\n")])


@pytest.mark.parametrize("is_orphan", [False, True])
def test_a_process_ends_with_its_application(monkeypatch: pytest.MonkeyPatch, is_orphan: bool) -> None:
    """PR_SET_PDEATHSIG is 1, SIGKILL 9; an application that ended before that is noticed."""
    called: list[Any] = []
    library = type("Library", (), {"prctl": staticmethod(lambda *args: called.append(args))})
    monkeypatch.setattr(child.ctypes, "CDLL", lambda name: library)  # type: ignore[attr-defined]
    monkeypatch.setattr(child.os, "getppid", lambda: 1 if is_orphan else 77)  # type: ignore[attr-defined]
    monkeypatch.setattr(child.os, "_exit", lambda status: called.append(f"exit {status}"))  # type: ignore[attr-defined]
    child.end_with(77)
    assert called == [(1, 9), *(["exit 0"] if is_orphan else [])]
