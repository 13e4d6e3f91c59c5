"""Rules 62 to 77 of validation.md: making a model ready."""

import mmap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nnapi import Burst, Compilation, Device, Execution, Memory, PreferenceCode, PriorityCode, compile, devices
from nnapi.contract.driver import Prepared, PrepareOptions
from nnapi.drivers.faulty import Fault, Faulty, Phase
from nnapi.errors import (
    BadDataError,
    BadStateError,
    DeadObjectError,
    MissedDeadlinePersistentError,
    MissedDeadlineTransientError,
    NnapiError,
    OpFailedError,
    ResourceExhaustedTransientError,
    UnavailableDeviceError,
    UnexpectedNullError,
    UnmappableError,
)
from nnapi.model.model import Model
from nnapi.runtime.executors.deadline import PATIENCE
from tests.graphs import finished_sum, open_sum, sum_with
from tests.runtime.device_cases import ABS, GIVEN, NEG, REFERENCE, Scripted, as_it_is, chain, chained, limited

TOKEN = bytes(range(32))


def test_rule_062_the_model_is_finished_and_valid() -> None:
    model, *_ = open_sum()
    with pytest.raises(BadStateError, match="is not finished"):
        Compilation(model)
    with pytest.raises(BadDataError):
        model.finish()
    with pytest.raises(BadStateError, match="is not finished"):
        Compilation(model, [REFERENCE])


def test_rule_063_chosen_devices() -> None:
    model = finished_sum()
    wrong: list[tuple[Any, type[NnapiError], str]] = [
        ([], BadDataError, "no devices are listed"),
        ([REFERENCE, REFERENCE], BadDataError, "nnapi-reference is listed twice"),
        ([8], BadDataError, "a device is of type int, must be nnapi.Device"),
        ([REFERENCE, None], UnexpectedNullError, "a device is None"),
    ]
    for chosen, error, message in wrong:
        with pytest.raises(error, match=message):
            Compilation(model, chosen)


SETTERS: list[Callable[[Compilation], Any]] = [
    lambda c: c.set_preference(PreferenceCode.PREFER_LOW_POWER),
    lambda c: c.set_caching("/tmp", TOKEN),
    lambda c: c.set_priority(PriorityCode.PRIORITY_LOW),
    lambda c: c.set_timeout(1),
    lambda c: c.add_extension_attribute("com.example.hint", 1, b""),
    lambda c: c.finish(),
]


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("setter", SETTERS)
def test_rule_064_nothing_changes_after_finish(setter: Callable[[Compilation], Any], fails: bool) -> None:
    compilation = Compilation(
        chain(), [Device(Faulty(REFERENCE.driver, Fault.FAILS, Phase.PREPARE, rate=float(fails)))]
    )
    if fails:
        with pytest.raises(OpFailedError):
            compilation.finish()
    else:
        compilation.finish()
    with pytest.raises(BadStateError, match="the compilation is"):
        setter(compilation)


def test_rule_065_preferences() -> None:
    driver = Scripted(as_it_is)
    compilation = Compilation(finished_sum(), [Device(driver)])
    for wrong in (-1, 3):
        with pytest.raises(BadDataError, match=f"preference is {wrong}"):
            compilation.set_preference(wrong)  # type: ignore[arg-type]
    compilation.finish()
    assert driver.options[0].preference == PreferenceCode.PREFER_FAST_SINGLE_ANSWER == 1
    for preference in PreferenceCode:
        compile(finished_sum(), Device(driver), preference)
        assert driver.options[-1].preference == preference


def test_threads_have_limits() -> None:
    """Engines crash if they start tens of thousands of threads."""
    compilation = Compilation(finished_sum(), [Device(Scripted(as_it_is))])
    for wrong in (-1, 0, 1025, 50000, 2.5, "2"):
        with pytest.raises(BadDataError, match=f"threads is {wrong!r}, must be (an integer )?from 1 to 1024"):
            compilation.set_threads(wrong)  # type: ignore[arg-type]
    for right in (None, 1, 1024):
        compilation.set_threads(right)


def test_rule_066_priorities() -> None:
    driver = Scripted(as_it_is)
    compilation = Compilation(finished_sum(), [Device(driver)])
    for wrong in (0, 91, 120):
        with pytest.raises(BadDataError, match=f"priority is {wrong}"):
            compilation.set_priority(wrong)  # type: ignore[arg-type]
    compilation.finish()
    assert driver.options[0].priority == PriorityCode.PRIORITY_MEDIUM == 100
    for priority in PriorityCode:
        compile(finished_sum(), Device(driver), priority=priority)
        assert driver.options[-1].priority == priority


def test_rule_067_a_time_limit_needs_one_chosen_device() -> None:
    for chosen in (None, [REFERENCE, limited()]):
        with pytest.raises(BadDataError, match="exactly one chosen device"):
            Compilation(finished_sum(), chosen).set_timeout(1)
    finished = compile(finished_sum(), [REFERENCE, limited()])
    with pytest.raises(BadStateError):
        finished.set_timeout(1)
    driver = Scripted(as_it_is)
    for unlimited in (0, 2**64 - 1):
        compilation = Compilation(finished_sum(), [Device(driver)])
        compilation.set_timeout(unlimited)
        compilation.finish()
        assert driver.options[-1].deadline is None
    compile(finished_sum(), Device(driver), timeout=1000)
    assert driver.options[-1].deadline is not None


def test_rule_068_attributes() -> None:
    for chosen in (None, [REFERENCE, limited()]):
        with pytest.raises(BadDataError, match="exactly one chosen device"):
            Compilation(finished_sum(), chosen).add_extension_attribute("com.example.hint", 1, b"")
    driver = Scripted(as_it_is)
    compilation = Compilation(finished_sum(), [Device(driver)])
    compilation.add_extension_attribute("com.example.hint", 2, b"two")
    compilation.add_extension_attribute("com.example.hint", 1, None)
    with pytest.raises(BadDataError, match=r"com.example.hint 2 was added .* already"):
        compilation.add_extension_attribute("com.example.hint", 2, b"")
    compilation.finish()
    assert driver.options[0].attributes == (("com.example.hint", 1, b""), ("com.example.hint", 2, b"two"))
    execution = Execution(compilation)
    execution.add_extension_attribute("com.example.run", 3, b"three")
    for index in (0, 1):
        execution.set_input(index, GIVEN)
    execution.set_output(0, np.empty_like(GIVEN))
    execution.compute()
    assert driver.requests[0].attributes == (("com.example.run", 3, b"three"),)


def test_rule_069_a_cache_directory_is_not_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for directory in (tmp_path / "missing", "", str(tmp_path)):
        compilation = Compilation(finished_sum())
        compilation.set_caching(directory, bytearray(TOKEN))  # type: ignore[arg-type]
        compilation.finish()
    with pytest.raises(BadDataError, match="31 bytes, must have 32"):
        Compilation(finished_sum()).set_caching(tmp_path, TOKEN[:31])
    for directory, token in ((None, TOKEN), (tmp_path, None)):
        with pytest.raises(UnexpectedNullError):
            Compilation(finished_sum()).set_caching(directory, token)


def test_rule_070_an_operation_that_nobody_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    nobody = [limited("first", [NEG]), limited("second", [NEG])]
    for chosen in (nobody, None):
        monkeypatch.setattr("nnapi.runtime.device.devices", lambda: nobody)
        with pytest.raises(BadDataError) as caught:
            compile(chain(), chosen)
        for message in ("no device supports ABS (#0)", "first: ABS (#0): not for first", "second: ABS"):
            assert message in str(caught.value)


@pytest.mark.parametrize("error", [BadDataError, UnexpectedNullError])
def test_rule_070_no_fallback_from_what_is_the_caller_s_fault(
    error: type[NnapiError], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise error("your fault")

    monkeypatch.setattr("nnapi.runtime.choice.predict.choose_threads", refuse)
    with pytest.raises(error, match="your fault"):
        compile(chain())


def test_rule_071_a_time_limit_that_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Faulty(REFERENCE.driver, Fault.SLOW, Phase.PREPARE, seconds=0.02)
    with monkeypatch.context() as patched:
        patched.setattr("nnapi.runtime.executors.deadline.PATIENCE", 60.0)
        with pytest.raises(MissedDeadlinePersistentError, match="preparing took longer than 1000000 ns"):
            compile(chain(), Device(slow), timeout=0.001)
    hanging = Faulty(REFERENCE.driver, Fault.HANGS, Phase.PREPARE, seconds=60)
    with pytest.raises(MissedDeadlineTransientError, match="did not answer within the time limit") as found:
        compile(chain(), Device(hanging), timeout=0.001)
    assert "claimed" not in str(found.value)  # the device is not asked again, operation by operation
    hanging.released.set()
    assert PATIENCE < 1


def test_rule_072_constants_that_cannot_be_mapped(tmp_path: Path) -> None:
    (tmp_path / "short").write_bytes(bytes(8))
    with (tmp_path / "short").open("rb") as file:
        memory = Memory.from_fd(16, mmap.PROT_READ, file.fileno())
    with pytest.raises(UnmappableError, match=r"y \(1\)"):
        compile(sum_with((memory, 0, 16)), REFERENCE.name)


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Fault.FAILS, OpFailedError),
        (Fault.RAISES, OpFailedError),
        (Fault.REFUSES, UnavailableDeviceError),
        (Fault.DIES, DeadObjectError),
    ],
)
def test_rule_073_what_the_driver_says(fault: Fault, error: type[NnapiError]) -> None:
    with pytest.raises(NnapiError, match="claimed operations #0, #1, #2, but failed to prepare") as caught:
        compile(chain(), Device(Faulty(REFERENCE.driver, fault, Phase.PREPARE)))
    assert type(caught.value) is error


def test_rule_073_a_code_of_the_driver_s_own_is_kept() -> None:
    class Full(Scripted):
        def prepare(self, model: Model, options: PrepareOptions) -> Prepared:
            raise ResourceExhaustedTransientError("full")

    with pytest.raises(ResourceExhaustedTransientError, match="full"):
        compile(chain(), Device(Full(as_it_is)))


@pytest.mark.parametrize("fault", [Fault.FAILS, Fault.RAISES, Fault.REFUSES, Fault.DIES])
def test_rule_074_automatic_compilations_fall_back(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    faulty = Device(Faulty(limited().driver, fault, Phase.PREPARE))
    monkeypatch.setattr("nnapi.runtime.device.devices", lambda: [faulty, REFERENCE])
    compilation = compile(chain())
    assert compilation.plan.devices == ("nnapi-reference",)
    assert "quick claimed operations #0, #1, #2, but failed to prepare" in compilation.plan.notes[0]
    assert np.array_equal(compilation.run(GIVEN)[0], chained())


def test_rule_074_whatever_goes_wrong_else_falls_back(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise OpFailedError("the plan cannot be made")

    monkeypatch.setattr("nnapi.runtime.choice.predict.choose_threads", broken)
    assert np.array_equal(compile(chain()).run(GIVEN)[0], chained())
    with pytest.raises(OpFailedError, match="the plan cannot be made"):
        compile(chain(), [REFERENCE, limited()])


def test_rule_075_what_needs_a_finished_compilation() -> None:
    compilation = Compilation(finished_sum())
    for use in (
        Execution,
        Burst,
        lambda c: c.preferred_memory_alignment_for_input(0),
        lambda c: c.run(),
        lambda c: c.plan,
    ):
        with pytest.raises(BadStateError, match="the compilation is preparing, not ready"):
            use(compilation)
    compilation.finish()
    for index in (-1, 2):
        with pytest.raises(BadDataError, match=f"input {index} does not exist"):
            compilation.preferred_memory_padding_for_input(index)
    with pytest.raises(BadDataError, match="output 1 does not exist"):
        compilation.preferred_memory_alignment_for_output(1)


def preferred(compilation: Compilation) -> tuple[int, int, int, int]:
    return (
        compilation.preferred_memory_alignment_for_input(0),
        compilation.preferred_memory_padding_for_input(0),
        compilation.preferred_memory_alignment_for_output(0),
        compilation.preferred_memory_padding_for_output(0),
    )


def test_rule_076_alignment_and_padding() -> None:
    assert preferred(compile(chain(), "nnapi-reference")) == (64, 64, 64, 64)
    assert preferred(compile(chain(), limited(level=5))) == (64, 64, 64, 64)
    assert preferred(compile(chain(), limited(level=4))) == (64, 1, 64, 1)
    both = compile(chain(), [limited("old", [ABS], level=4), limited("new", [NEG])])
    assert preferred(both) == (64, 64, 64, 64)


def test_rule_077_one_compilation_serves_many() -> None:
    compilation = compile(chain())
    executions = [Execution(compilation) for _ in range(3)]
    bursts = [compilation.burst() for _ in range(3)]
    for execution, burst in zip(executions, bursts, strict=True):
        result = np.empty_like(GIVEN)
        execution.set_input(0, GIVEN)
        execution.set_output(0, result)
        execution.burst_compute(burst)
        assert np.array_equal(result, chained())
    assert len(devices()) >= 1
