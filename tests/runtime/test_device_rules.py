"""Rules 90 and 157 to 178 of validation.md, as far as they concern events, devices and levels."""

import threading
from collections import Counter

import numpy as np
import pytest

import nnapi
from nnapi import Device, Event, FeatureLevelCode, NnapiError, ResultCode, compile, device, devices
from nnapi.codes import DeviceTypeCode, OperationCode
from nnapi.contract.driver import Capabilities, DeviceInfo, Outcome, PrepareOptions, Request, Verdict
from nnapi.errors import (
    BadDataError,
    BadStateError,
    DeadObjectError,
    OpFailedError,
    ResourceExhaustedPersistentError,
    ResourceExhaustedTransientError,
    UnavailableDeviceError,
)
from nnapi.host.installed_packages import Entry
from nnapi.model.model import Model
from nnapi.model.operation import REGISTRY, Operation
from nnapi.model.parameter import REQUIRED, Several
from nnapi.trace import Layer
from tests.discovery import find_devices_anew
from tests.graphs import finished_sum
from tests.runtime.device_cases import REFERENCE, Scripted, as_it_is, limited
from tests.runtime.execution_cases import ONES, blank, prepared


class Broken:
    """A device that takes everything and raises the given error, when it prepares or when it executes."""

    def __init__(self, error: Exception, *, prepares: bool = True, level: int = 8) -> None:
        self.info = DeviceInfo("broken", "1", DeviceTypeCode.DEVICE_OTHER, level)
        self.error, self.prepares = error, prepares

    def capabilities(self) -> Capabilities:
        return Capabilities()

    def verdicts(self, model: Model) -> list[Verdict]:
        return [Verdict(True)] * len(model.operations)

    def prepare(self, model: Model, options: PrepareOptions) -> "Broken":
        if not self.prepares:
            raise self.error
        return self

    def execute(self, request: Request) -> Outcome:
        raise self.error

    def close(self) -> None: ...


# M. Events


def test_rule_159_any_number_of_threads_wait_for_an_event() -> None:
    gate = threading.Event()
    event = Event(lambda: (gate.wait(), None)[1])
    seen: list[bool] = []
    threads = [threading.Thread(target=lambda: (event.wait(), seen.append(event.is_done))) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert not event.is_done
    assert seen == []
    gate.set()
    for thread in threads:
        thread.join()
    event.wait()
    assert seen == [True] * 4


def test_rule_160_giving_an_event_back_waits() -> None:
    gate = threading.Event()
    event = Event(lambda: (gate.wait(), None)[1])
    threading.Timer(0.02, gate.set).start()
    event.close()
    assert event.is_done


def test_rule_160_giving_back_an_event_that_failed_says_nothing() -> None:
    def fail() -> None:
        raise BadDataError("no")

    with Event(fail) as event:
        pass
    with pytest.raises(BadDataError, match="no"):
        event.wait()


def test_rule_161_a_start_that_fails_gives_no_event() -> None:
    event = None
    execution = prepared()
    with pytest.raises(BadDataError, match="output 0"):
        event = execution.start_compute()
    with pytest.raises(BadStateError, match="completed"):
        event = execution.start_compute()
    with pytest.raises(BadStateError, match="the compilation is preparing, not ready"):
        event = nnapi.Compilation(finished_sum()).start(ONES, ONES)
    assert event is None


# N. Devices


def test_rule_162_devices_by_number_and_name() -> None:
    assert devices()[-1].name == "nnapi-reference"
    assert devices()[-1].type == DeviceTypeCode.DEVICE_CPU
    assert device("nnapi-reference") is devices()[-1]
    with pytest.raises(UnavailableDeviceError, match="no device 'nowhere'; there are: .*nnapi-reference"):
        device("nowhere")


def test_rule_163_the_level_of_a_device_is_at_most_the_runtime_s() -> None:
    for level, code in ((1, 27), (5, 31), (8, 1_000_008), (9, 1_000_008)):
        assert Device(Broken(OSError(), level=level)).feature_level == code
    assert device("nnapi-reference").feature_level == FeatureLevelCode.FEATURE_LEVEL_8


@pytest.mark.parametrize(
    ("raised", "direct", "by_event"),
    [
        (DeadObjectError("crashed"), ResultCode.DEAD_OBJECT, ResultCode.OP_FAILED),
        (UnavailableDeviceError("busy"), ResultCode.UNAVAILABLE_DEVICE, ResultCode.UNAVAILABLE_DEVICE),
        (OpFailedError("general failure"), ResultCode.OP_FAILED, ResultCode.OP_FAILED),
        (RuntimeError("segmentation"), ResultCode.OP_FAILED, ResultCode.OP_FAILED),
        (MemoryError("1 TiB"), ResultCode.OUT_OF_MEMORY, ResultCode.OP_FAILED),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else value.name,
)
def test_rule_165_a_driver_that_fails(raised: Exception, direct: ResultCode, by_event: ResultCode) -> None:
    compilation = compile(finished_sum(), [Device(Broken(raised))])
    for run, code in (
        (lambda: compilation.run(ONES, ONES), direct),
        (lambda: compilation.burst().run(ONES, ONES), direct),
        (lambda: compilation.start(ONES, ONES).result(), by_event),
    ):
        with pytest.raises(NnapiError, match=str(raised)) as caught:
            run()
        assert caught.value.code == code
    execution = prepared(compilation)
    execution.set_output(0, blank())
    with pytest.raises(NnapiError, match=str(raised)) as caught:
        execution.compute()
    assert caught.value.code == direct
    if direct != ResultCode.OUT_OF_MEMORY:
        with pytest.raises(NnapiError, match=str(raised)) as caught:
            compile(finished_sum(), [Device(Broken(raised, prepares=False))])
        assert caught.value.code == direct


@pytest.mark.parametrize("error", [ResourceExhaustedTransientError, ResourceExhaustedPersistentError])
def test_rule_166_exhausted_resources_keep_their_code(error: type[NnapiError]) -> None:
    compilation = compile(finished_sum(), [Device(Broken(error("too much at a time")))])
    with pytest.raises(error, match="too much at a time"):
        compilation.run(ONES, ONES)
    with pytest.raises(error, match="too much at a time"):
        compilation.start(ONES, ONES).wait()


def test_rule_167_an_extension_that_is_not_known_is_not_supported() -> None:
    assert "com.example.rules" not in device("nnapi-reference").extensions


@pytest.mark.parametrize(
    ("cpu_only", "pattern", "names"),
    [
        ("", "", {"alpha", "beta", "nnapi-reference"}),
        ("0", "", {"alpha", "beta", "nnapi-reference"}),
        ("1", "", {"nnapi-reference"}),
        ("1", "alpha", {"nnapi-reference"}),
        ("", "alp", {"alpha", "nnapi-reference"}),
        ("", "^[b-z]", {"beta", "nnapi-reference"}),
        ("", "nothing", {"nnapi-reference"}),
    ],
)
def test_rule_090_properties_that_choose_devices(
    cpu_only: str, pattern: str, names: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    drivers = {name: limited(name).driver for name in ("alpha", "beta")} | {"nnapi-reference": REFERENCE.driver}
    entries = [Entry(name, f"drivers:{name}") for name in drivers]
    monkeypatch.setattr("nnapi.runtime.device.find_entries", lambda group: entries)
    monkeypatch.setattr(Entry, "load", lambda entry: drivers[entry.name])
    find_devices_anew(monkeypatch)
    monkeypatch.setenv("DEBUG_NN_CPUONLY", cpu_only)
    monkeypatch.setenv("DEBUG_NN_ENABLED_DEVICES", pattern)
    found = nnapi.devices()
    assert {device.name for device in found} == names
    assert found[-1].name == "nnapi-reference"


def test_devices_that_must_be_named_come_after_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that takes the first device gets one that computes."""
    drivers = [Scripted(as_it_is, "alpha"), Scripted(as_it_is, "beta"), REFERENCE.driver]
    drivers[0].is_by_name = True  # type: ignore[attr-defined]
    monkeypatch.setattr("nnapi.runtime.device.find_entries", lambda group: [Entry("drivers", "a:b")])
    monkeypatch.setattr(Entry, "load", lambda entry: lambda: drivers)
    monkeypatch.delenv("DEBUG_NN_CPUONLY", raising=False)
    find_devices_anew(monkeypatch)
    assert nnapi.unavailable_devices() == []
    assert [device.name for device in nnapi.devices()] == ["beta", "alpha", "nnapi-reference"]


# P. Feature levels


def test_rule_174_levels_compare_as_numbers() -> None:
    levels = [FeatureLevelCode[f"FEATURE_LEVEL_{n}"] for n in range(1, 9)]
    assert sorted(levels) == levels
    assert [code.level for code in levels] == list(range(1, 9))


def lowest_level(operation: Operation) -> int:
    """The level from which some call of the operation is legal."""
    levels = []
    for form in operation.overloads:
        needed = [1]
        for slot in form.inputs:
            parameter = slot.parameter if isinstance(slot, Several) else slot
            if isinstance(slot, Several) or slot.default is REQUIRED:
                needed.append(max(parameter.since, min(parameter.types.values(), default=1)))
        levels.append(max(needed))
    return min(levels)


def test_rule_175_the_operations_that_came_with_each_level() -> None:
    operations = [REGISTRY[code] for code in OperationCode]
    counts = Counter(map(lowest_level, operations))
    assert counts == {1: 29, 2: 9, 3: 57, 4: 7, 6: 2, 7: 2}
    assert {op.name for op in operations if lowest_level(op) > 4} == {
        "BATCH_MATMUL",
        "PACK",
        "MIRROR_PAD",
        "REVERSE",
    }


def test_results_are_given_to_everybody_who_asks() -> None:
    result = compile(finished_sum()).start(ONES, ONES)
    first = result.result()
    first.clear()
    assert np.array_equal(result.result()[0], 2 * ONES)


def test_a_device_has_the_layer_of_its_driver_in_traces() -> None:
    assert REFERENCE.layer is Layer.CPU
    assert Device(Broken(OpFailedError("broken"))).layer is Layer.DRIVER
