"""``compile(start="soon")``: what is ready first answers, and what was chosen takes over."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import nnapi
from nnapi import Device, Model, compile, settings
from nnapi.drivers.base import Prepared, PrepareOptions
from nnapi.runtime import background, soon
from nnapi.runtime.autotune.measurements import keep_measurements, make_key
from nnapi.runtime.planning.plan import Plan, run_everything_on
from tests.runtime.cache_cases import Slow, doubled
from tests.runtime.device_cases import ABS, chain, limited

X = np.array([1, 2], np.float32)
REFERENCE = nnapi.device("nnapi-reference")


class Held(Slow):
    """Prepares nothing until it is let go on."""

    starts_slowly = True

    def __init__(self) -> None:
        super().__init__("held")
        self.go_on = threading.Event()
        self.fails = False

    def prepare(self, model: Model, options: PrepareOptions) -> Prepared:
        assert self.go_on.wait(60)
        if self.fails:
            raise RuntimeError("not today")
        return super().prepare(model, options)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Held]:
    monkeypatch.setenv("NNAPI_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(soon, "DELAY", 0.0)
    driver = Held()
    with settings(tuning=True):
        yield driver
    driver.go_on.set()
    for change in list(background.running):
        change.stop()
        assert change.wait(60)


def find_change(compilation: nnapi.Compilation) -> soon.ChangeOver | None:
    return compilation._soon.change_over if compilation._soon else None


def keep_choice(model: Model, devices: list[Device], chosen: Device) -> None:
    """As if compilations before had found that device to be the fastest."""
    plan = Plan(model, (run_everything_on(model, chosen.name),), (), 1.0, threads=1)
    keep_measurements(make_key(model, devices, PrepareOptions()), {}, 0, plan)


def test_what_is_ready_first_answers_until_what_was_chosen_takes_over(held: Held) -> None:
    model, devices = doubled(), [Device(held), REFERENCE]
    keep_choice(model, devices, devices[0])
    compilation = compile(model, devices, start="soon")
    burst = compilation.burst()
    assert compilation.plan.devices == ("nnapi-reference",)
    assert compilation.run(X)[0].tolist() == [2, 4]
    assert soon.FIRST in compilation.explain()
    change = find_change(compilation)
    assert change is not None
    held.go_on.set()
    assert change.wait(60)
    assert compilation.plan.devices == ("held",)
    assert compilation.run(X)[0].tolist() == [2, 4] == burst.run(X)[0].tolist()
    assert "took over in the background from the plan that was ready first: nnapi-reference" in compilation.explain()


def test_the_default_waits(held: Held) -> None:
    model, devices = doubled(), [Device(held), REFERENCE]
    keep_choice(model, devices, devices[0])
    held.go_on.set()
    compilation = compile(model, devices)
    assert compilation.plan.devices == ("held",)
    assert find_change(compilation) is None


def test_a_choice_that_is_quick_is_taken_at_once(held: Held) -> None:
    model, devices = doubled(), [Device(held), REFERENCE]
    keep_choice(model, devices, REFERENCE)
    compilation = compile(model, devices, start="soon")
    assert compilation.plan.devices == ("nnapi-reference",)
    assert find_change(compilation) is None


def test_of_a_model_that_nothing_is_known_of_no_slow_device_is_waited_for(held: Held) -> None:
    compilation = compile(doubled(), [Device(held), REFERENCE], start="soon")
    assert compilation.plan.devices == ("nnapi-reference",)
    assert not held.prepared


def test_what_a_quick_device_refuses_another_has(held: Held) -> None:
    picky = limited("picky", [ABS])
    compilation = compile(chain(), [Device(held), picky, REFERENCE], start="soon")
    assert compilation.plan.devices == ("picky", "nnapi-reference")
    assert soon.FIRST in compilation.explain()


def test_what_is_closed_meanwhile_stays_closed(held: Held) -> None:
    model, devices = doubled(), [Device(held), REFERENCE]
    keep_choice(model, devices, devices[0])
    compilation = compile(model, devices, start="soon")
    change = find_change(compilation)
    assert change is not None
    compilation.close()
    held.go_on.set()
    assert change.wait(60)
    assert (compilation.is_ready, compilation.devices) == (False, [])


def test_what_fails_in_the_background_changes_nothing(held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    model, devices = doubled(), [Device(held), REFERENCE]
    keep_choice(model, devices, devices[0])
    held.fails = True
    monkeypatch.setattr("nnapi.runtime.choice.choose_and_prepare", None)  # nor can anything else be chosen
    compilation = compile(model, devices, start="soon")
    change = find_change(compilation)
    assert change is not None
    held.go_on.set()
    assert change.wait(60)
    assert compilation.plan.devices == ("nnapi-reference",)
    assert compilation.run(X)[0].tolist() == [2, 4]


def test_one_device_leaves_nothing_to_choose(held: Held) -> None:
    held.go_on.set()
    compilation = compile(doubled(), Device(held), start="soon")
    assert compilation.plan.devices == ("held",)
    assert find_change(compilation) is None


def test_another_start_is_refused() -> None:
    with pytest.raises(nnapi.BadDataError, match="start is 'later', must be 'soon' or None"):
        compile(doubled(), start="later")  # type: ignore[arg-type]


def test_a_process_may_end_while_the_choice_is_made() -> None:
    code = """
from tests.runtime.test_soon import *

soon.DELAY = 0.0
driver = Held()
with settings(tuning=True):
    compilation = compile(doubled(), [Device(driver), REFERENCE], start="soon")
print(compilation.run(X)[0].tolist())
driver.go_on.set()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "[2.0, 4.0]\n"), done.stderr
