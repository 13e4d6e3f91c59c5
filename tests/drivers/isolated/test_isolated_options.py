"""The options of an isolated driver: what its process is told, and when another one is started."""

import os
import pickle
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nnapi
import nnapi.drivers.isolated as isolated_module
from nnapi import PriorityCode, compile, tensor
from nnapi.contract.driver import CacheEntry, Driver, PrepareOptions, Request
from nnapi.drivers.isolated import Isolated
from nnapi.drivers.isolated.connection import Connection
from nnapi.errors import BadDataError, DeadObjectError, OpFailedError
from nnapi.host.installed_packages import Entry
from tests.discovery import find_devices_anew
from tests.drivers.isolated.isolated_cases import Misbehaving, Unimportable, asking, model, reference
from tests.drivers.isolated.loopback_cases import Bare, Loopback

pytestmark = pytest.mark.usefixtures("collect_nothing")
X = np.array([1, -2, 3, -4], np.float32)
Start = Callable[..., list[Loopback]]


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch) -> Start:
    """Let all processes, and workers of services, be threads with that driver; return them."""

    def prepare(driver: Driver | None = None) -> list[Loopback]:
        started: list[Loopback] = []

        def begin(*service: Any) -> Loopback:
            started.append(Loopback(driver or Misbehaving("", "")))
            started[-1].told.extend(service)
            return started[-1]

        monkeypatch.setattr(isolated_module, "Process", begin)
        monkeypatch.setattr(isolated_module, "Peer", begin)
        return started

    return prepare


# What its process is told


@pytest.mark.parametrize(
    ("driver", "device", "entry", "named", "is_pickled"),
    [
        ("some-device", "", "", "some-device", False),
        ("some.module:driver", "", "some.module:driver", "", False),
        ("some.module:driver", "one", "some.module:driver", "one", False),
        (Misbehaving("", ""), "", "", "", True),
        (asking, "one", "", "one", True),
    ],
)
def test_the_driver_is_named_or_pickled(
    start: Start, driver: Any, device: str, entry: str, named: str, is_pickled: bool
) -> None:
    started = start()
    made = Isolated(driver, device=device)
    made.wait()
    hello = started[0].hello
    assert (hello["kind"], hello["entry"], hello["device"]) == ("hello", entry, named)
    assert hello["path"] == sys.path
    assert (pickle.loads(bytes.fromhex(hello["pickle"])) == driver) if is_pickled else hello["pickle"] == ""
    made.close()


@pytest.mark.parametrize(
    ("options", "limits", "nice"),
    [
        ({}, {"memory": None, "network": True, "files": True}, 0),
        (
            {"memory": 3 << 20, "network": False, "files": False, "background": True},
            {"memory": 3145728, "network": False, "files": False},
            10,
        ),
        ({"memory": 1, "files": False}, {"memory": 1, "network": True, "files": False}, 0),
    ],
)
def test_limits_of_its_process(start: Start, options: dict[str, Any], limits: dict[str, Any], nice: int) -> None:
    started = start()
    made = Isolated("some-device", **options)
    made.connect(PriorityCode.PRIORITY_LOW)
    assert (started[0].hello["limits"], started[0].hello["nice"]) == (limits, nice)
    assert started[0].told == []
    made.close()


@pytest.mark.parametrize("memory", [0, -1])
def test_memory_must_be_positive(memory: int) -> None:
    with pytest.raises(BadDataError, match=f"^memory is {memory}, must be above 0$"):
        Isolated("some-device", memory=memory)


@pytest.mark.parametrize(
    ("memory", "words"),
    [
        (3 << 20, "its memory is limited to 3 MiB (memory=3145728)"),
        (3 << 19, "its memory is limited to 1.5 MiB (memory=1572864)"),
        (None, ""),
    ],
)
def test_the_limit_in_errors(start: Start, memory: int | None, words: str) -> None:
    start()
    made = Isolated("some-device", memory=memory)
    assert made.connect()._limited == words
    made.close()


@pytest.mark.parametrize(
    ("options", "patience", "grace"), [({}, None, 5.0), ({"patience": 2.0, "grace": 0.5}, 2.0, 0.5)]
)
def test_patience_and_grace(start: Start, options: dict[str, Any], patience: float | None, grace: float) -> None:
    start()
    made = Isolated("some-device", **options)
    connection = made.connect()
    assert (connection._patience, connection._grace) == (patience, grace)
    made.close()


# A service


def test_a_service_has_a_worker_for_each_priority(start: Start) -> None:
    started = start()
    made = Isolated("some-device", service="/some/socket", patience=3.0, memory=1 << 20, background=True)
    priorities = [PriorityCode.PRIORITY_LOW, PriorityCode.PRIORITY_MEDIUM, PriorityCode.PRIORITY_HIGH]
    connections = [made.connect(priority) for priority in priorities]
    assert [made.connect(priority) for priority in priorities] == connections
    assert [each.hello["nice"] for each in started] == [10, 3, 0]
    assert made.connect() is connections[1]
    assert [each.told for each in started] == [["/some/socket", 3.0]] * 3
    assert connections[0]._limited == "", "the service sets the limits"
    made.close()
    assert all(each.told[-2:] == ["end", "close"] for each in started)


@pytest.mark.parametrize("driver", [Misbehaving("", ""), asking])
def test_a_service_knows_names_only(driver: Any) -> None:
    with pytest.raises(BadDataError, match="^a service knows drivers by their names, not "):
        Isolated(driver, service="/some/socket")


# Its description


def test_a_driver_that_is_given_describes_itself(start: Start) -> None:
    started = start()
    driver = Misbehaving("", "")
    made = Isolated(driver)
    assert made.info == driver.info
    assert made.capabilities() == driver.capabilities()
    assert (started, made.pid) == ([], None)
    assert not made.is_by_name
    assert made.is_remote


@pytest.mark.parametrize("source", ["misbehaving", Unimportable, asking])
def test_others_are_described_by_their_process(start: Start, source: Any) -> None:
    started = start()
    made = Isolated(source)
    assert made.info == Misbehaving("", "").info
    assert made.capabilities() == Misbehaving("", "").capabilities()
    assert (len(started), made.pid) == (1, os.getpid())
    made.close()
    assert made.pid is None
    assert made.info.name == "misbehaving"
    assert len(started) == 1, "it is known by now"


def test_a_known_driver_is_asked(start: Start) -> None:
    started = start()
    known = Bare()
    known.is_by_name = True  # type: ignore[attr-defined]
    made = Isolated("misbehaving", known=known)
    assert (made.info, made.is_by_name) == (known.info, True)
    assert started == []


def test_a_description_is_read_with_patience(start: Start) -> None:
    started = start()
    made = Isolated("misbehaving", patience=3.0)
    made.describe()
    assert (started[0].told[:2], made.pid) == (["end", "close"], None)
    assert made.info.name == "misbehaving"
    assert made.connect()._patience is None, "later calls may take long"
    made.close()


def test_another_process_is_started_after_an_end(start: Start) -> None:
    started = start()
    made = Isolated("misbehaving")
    first = made.connect()
    assert made.connect() is first
    assert first.name == "misbehaving"
    first.close()
    second = made.connect()
    assert second is not first
    assert len(started) == 2
    made.close()


def test_a_driver_that_has_become_another(start: Start) -> None:
    """The first process describes it, or the application."""
    start()
    made = Isolated("misbehaving")
    made.connect().close()
    started = start(reference())
    version = reference().info.version
    for _ in range(2):
        with pytest.raises(DeadObjectError, match=f"^misbehaving 1 has become nnapi-reference {version}$"):
            made.connect()
    assert [each.told[:2] for each in started] == [["end", "close"]]


def test_errors_name_the_driver(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before its process says a name: by the known one, by its own name, by the device's."""

    names: list[str] = []
    inner = Connection

    def note(name: str, *others: Any) -> Any:
        names.append(name)
        return inner(name, *others)

    start()
    monkeypatch.setattr(isolated_module, "Connection", note)
    for made in (
        Isolated("misbehaving"),
        Isolated("some.module:driver"),
        Isolated("some.module:driver", device="one"),
        Isolated(Misbehaving("", "")),
        Isolated(asking),
        Isolated("misbehaving", known=Bare()),
    ):
        made.wait()
        made.close()
    assert names == ["misbehaving", "some.module:driver", "one", "misbehaving", "a driver", "misbehaving"]


# Models


def test_verdicts_come_in_the_order_of_operations(start: Start) -> None:
    start()
    made = Isolated("misbehaving")
    assert list(made.verdicts(model("abs", "neg"))) == list(reference().verdicts(model("abs", "neg")))
    made.close()


def test_a_cache_entry_is_restored_once(start: Start) -> None:
    """In later processes the model is prepared: the entry may be what ended the first."""
    started = start()
    phases: list[str] = []
    driver = Misbehaving("", "")
    driver.strike = lambda phase, model: phases.append(phase)  # type: ignore[method-assign]
    started = start(driver)
    made = Isolated("misbehaving")
    assert made.cache_entry(made.prepare(model(), PrepareOptions())) == b"kept"
    restored = made.restore(model(), CacheEntry(b"kept"), PrepareOptions())
    assert phases == ["prepare", "restore"]
    assert restored.execute(Request([X])).outputs[0].tolist() == [1, 2, 3, 4]
    made.close()
    assert restored.execute(Request([X])).outputs[0].tolist() == [1, 2, 3, 4]
    assert phases == ["prepare", "restore", "execute", "prepare", "execute"]
    assert len(started) == 2
    made.close()


def test_a_driver_without_a_cache_and_memory_of_its_own(start: Start) -> None:
    start(Bare())
    made = Isolated("misbehaving")
    assert made.cache_entry(made.prepare(model(), PrepareOptions())) is None
    with pytest.raises(OpFailedError, match="^misbehaving allocates no memory$"):
        made.allocate(tensor("float32", (4,)))
    made.close()


def test_memory_is_the_application_s(start: Start) -> None:
    start()
    made = Isolated("misbehaving")
    buffer = made.allocate(tensor("float32", (4,)))
    assert not buffer.has_data
    buffer.store(X)
    assert buffer.load() is X
    with pytest.raises(OpFailedError, match="^misbehaving allocates no memory of unknown dimensions: "):
        made.allocate(tensor("float32", (0,)))
    made.close()


def test_a_preparation_has_its_deadline(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    start()
    made = Isolated("misbehaving")
    connection = made.connect()
    deadlines: list[tuple[str, int | None]] = []
    inner = connection.ask_on

    def ask_on(channel: Any, body: Any, read: Any, descriptors: Any, deadline: int | None) -> Any:
        deadlines.append((body["kind"], deadline))
        return inner(channel, body, read, descriptors, deadline)

    monkeypatch.setattr(connection, "ask_on", ask_on)
    kept = model()
    made.prepare(kept, PrepareOptions(deadline=1 << 62))
    made.restore(kept, CacheEntry(b"kept"), PrepareOptions(deadline=1 << 61))
    assert deadlines == [("model", None), ("prepare", 1 << 62), ("restore", 1 << 61)]
    made.close()


@pytest.mark.parametrize(
    ("named", "is_isolated"), [("", False), ("all", False), ("other, nnapi-reference", True), ("nnapi-reference", True)]
)
def test_devices_named_in_the_environment(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, named: str, is_isolated: bool
) -> None:
    """All means all but the reference, which is what others fall back on."""
    find_devices_anew(monkeypatch)
    monkeypatch.setenv("NNAPI_ISOLATED", named)
    found = nnapi.device("nnapi-reference")
    assert isinstance(found.driver, Isolated) is is_isolated
    with found:
        assert compile(model(), found).run(X)[0].tolist() == [1, 2, 3, 4]
    told = [record.message for record in caplog.records if "NNAPI_ISOLATED" in record.message]
    assert told == (["NNAPI_ISOLATED names other, which is not a device here"] if "other" in named else [])


@pytest.mark.slow
def test_a_driver_asks_for_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    find_devices_anew(monkeypatch)
    entry = Entry("asking", "tests.drivers.isolated.isolated_cases:asking")
    monkeypatch.setattr("nnapi.runtime.device.find_entries", lambda group: [entry])
    monkeypatch.delenv("DEBUG_NN_CPUONLY")
    with nnapi.device("misbehaving") as found:
        assert compile(model(), found).run(X)[0].tolist() == [1, 2, 3, 4]
        assert isinstance(found.driver, Isolated)
        assert found.driver.pid is not None
