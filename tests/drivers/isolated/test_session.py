"""The session of a connection in the driver's process: limits, sections of a trace, and what is released."""

from collections.abc import Iterator
from typing import Any

import pytest

from nnapi import DeviceTypeCode
from nnapi.contract.driver import PrepareOptions
from nnapi.drivers.isolated import plain_values
from nnapi.drivers.isolated.allowance import UNLIMITED, Allowance
from nnapi.drivers.isolated.session import PreparedModel, Recording, Session, section_of
from nnapi.errors import OutOfMemoryError, ResourceExhaustedPersistentError
from nnapi.trace import Span, spans
from tests.drivers.isolated.isolated_cases import Misbehaving, model
from tests.drivers.isolated.loopback_cases import BarePrepared

THREE = "the service allows an application 3 MiB (nnapi serve --memory)"


@pytest.fixture(autouse=True)
def nothing_recorded() -> Iterator[None]:
    yield
    if spans.active:
        spans.stop()


def run_section(name: str) -> None:
    with spans.section(name):
        pass


def names(found: list[Span]) -> list[str]:
    return [span.label.name for span in found]


# Channels and models


def test_a_channel_has_the_first_free_slot() -> None:
    session = Session(Allowance(threads=3))
    assert session.clock.tolist() == [0, 0, 0]
    assert [session.enter_channel(print) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ResourceExhaustedPersistentError, match=r"has 3 threads, .*\(nnapi serve --max-threads\)"):
        session.enter_channel(print)
    session.clock[1], session.clock[2] = 5, 6
    session.leave_channel(1)
    assert session.clock.tolist() == [0, 0, 6], "nothing runs there any more"
    assert session.enter_channel(print) == 1


def test_the_clock_of_a_service_is_shared() -> None:
    clock = memoryview(bytearray(16)).cast("Q")
    assert Session(Allowance(threads=2), clock).clock is clock
    assert len(Session().clock) == 1 << 12


@pytest.mark.parametrize(("count", "is_permitted"), [(0, True), (2, True), (3, False), (4, False)])
def test_the_count_of_models_is_limited(count: int, is_permitted: bool) -> None:
    session = Session(Allowance(models=3))
    kept = dict.fromkeys(range(count))
    if is_permitted:
        session.check_count(kept)
    else:
        with pytest.raises(
            ResourceExhaustedPersistentError, match=f"^this application has {count} models, as many as "
        ):
            session.check_count(kept)


@pytest.mark.parametrize(("threads", "is_permitted"), [(None, True), (0, True), (1, True), (3, True), (4, False)])
def test_the_threads_of_a_model_are_limited(threads: int | None, is_permitted: bool) -> None:
    session = Session(Allowance(threads=3))
    values = plain_values.of_value(PrepareOptions(threads=threads))
    if is_permitted:
        assert session.to_options(values).threads == threads
    else:
        with pytest.raises(ResourceExhaustedPersistentError, match="^this application has 3 threads, as many as "):
            session.to_options(values)


def test_all_numbers_are_different() -> None:
    session = Session()
    table: dict[int, str] = {}
    assert [session.add(table, each) for each in "ab"] == [1, 2]
    assert session.add({}, "c") == 3
    assert table == {1: "a", 2: "b"}


def test_a_prepared_model_is_closed_but_not_with_a_burst() -> None:
    session = Session()
    forgotten: list[tuple[str, int]] = []
    session.enter_channel(lambda number: forgotten.append(("first", number)))
    session.enter_channel(lambda number: forgotten.append(("second", number)))
    own, shared = (BarePrepared(print) for _ in range(2))
    session.models[1] = model()
    session.prepared = {2: PreparedModel.of(own, model()), 3: PreparedModel.of(shared, model()).open_burst()}
    session.release(1)
    assert (session.models, forgotten) == ({}, [])
    for number in (3, 9, 2):
        session.release(number)
    assert forgotten == [("first", 3), ("second", 3), ("first", 2), ("second", 2)]
    assert (own.is_closed, shared.is_closed, session.prepared) == (True, False, {})


@pytest.mark.parametrize(
    ("allowance", "message"),
    [
        (UNLIMITED, "the driver: no memory left: much"),
        (
            Allowance(memory=3 << 20),
            f"no memory is left: {THREE}",
        ),
    ],
)
def test_an_error_names_the_limit(allowance: Allowance, message: str) -> None:
    session = Session(allowance)
    error = plain_values.to_error(session.describe_error(MemoryError("much"))["error"])
    assert (type(error), str(error)) == (OutOfMemoryError, message)
    session.driver = Misbehaving("", "")
    error = plain_values.to_error(session.describe_error(ZeroDivisionError("zero"))["error"])
    assert str(error) == "misbehaving failed: ZeroDivisionError: zero"


# Traces


@pytest.mark.parametrize(
    ("kind", "type", "label"),
    [
        ("verdicts", DeviceTypeCode.DEVICE_CPU, "[NN_LC_PC]getSupportedOperations"),
        ("prepare", DeviceTypeCode.DEVICE_GPU, "[NN_LD_PC]prepareModel"),
        ("restore", DeviceTypeCode.DEVICE_ACCELERATOR, "[NN_LD_PC]prepareModelFromCache"),
        ("execute", DeviceTypeCode.DEVICE_CPU, "[NN_LC_PE]misbehaving"),
    ],
)
@pytest.mark.parametrize(("operations", "args"), [(None, {}), ([3, 5], {"operations": [3, 5]})])
def test_the_section_of_a_request(kind: str, type: Any, label: str, operations: Any, args: dict[str, Any]) -> None:
    info = Misbehaving("", "").info._replace(type=type)
    section = section_of({"kind": kind, "trace": [1, operations]}, info, model(name="net"))
    assert (str(section.label), section.args) == (label, {"model": "net", **args})


def test_only_requests_with_a_trace_are_recorded() -> None:
    session = Session()
    session.driver = Misbehaving("", "")
    session.models[1] = model(name="one")
    session.prepared[2] = PreparedModel.of(BarePrepared(print), model(name="two"))
    asked = {"kind": "prepare", "model": 1, "trace": [1, None]}
    assert session.trace(asked) is spans.NOTHING, "nothing is recorded"
    recorder = spans.start()
    with session.trace(asked), session.trace({"kind": "execute", "prepared": 2, "trace": [1, [0]]}):
        pass
    with session.trace({"kind": "prepare", "model": 1}):
        run_section("[NN_LD_PE]muted")
    assert session.trace({"kind": "spans", "trace": [1, None]}) is spans.NOTHING
    assert [(str(span.label), span.args["model"]) for span in recorder.spans()] == [
        ("[NN_LD_PC]prepareModel", "one"),
        ("[NN_LD_PE]misbehaving", "two"),
    ]


def test_a_recording_pauses_and_goes_on() -> None:
    recording = Recording()
    recording.follow(None)
    assert not spans.active
    recording.follow([1, None])
    run_section("first")
    recording.follow([1, None])
    run_section("second")
    assert spans.active
    recording.pause()
    run_section("lost")
    assert not spans.active
    recording.pause()
    recording.follow([1, None])
    run_section("third")
    assert names(recording.read(0)) == ["first", "second", "third"]
    assert not spans.active
    assert names(recording.read(1)) == ["second", "third"]


def test_another_recording_has_only_its_own_spans() -> None:
    recording = Recording()
    for number in (1, 2):
        recording.follow([number, None])
        run_section(f"run {number}")
    assert names(recording.read(0)) == ["run 2"]


def test_a_recording_is_read_in_parts_of_a_thousand() -> None:
    recording = Recording()
    recording.follow([1, None])
    recording._kept = list(range(2500))  # type: ignore[arg-type]
    assert spans.active
    assert recording.read(1000) == list(range(1000, 2000))
    assert spans.active, "only the first part ends it"
    assert recording.read(0) == list(range(1000))
    assert not spans.active
    assert recording.read(2000) == list(range(2000, 2500))
    assert recording.read(2500) == []
