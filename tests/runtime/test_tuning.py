"""What ``tune`` finds out is what later compilations take."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import nnapi
from nnapi import Device, compile, settings
from nnapi.drivers.base import PrepareOptions
from nnapi.runtime import choice, tuning
from nnapi.runtime.autotune.measurements import keep_measurements, make_key, recall_measurements
from nnapi.runtime.costs.thread_choice import Pricing
from nnapi.runtime.planning.plan import Plan, run_everything_on
from nnapi.runtime.tuning import tune
from tests.runtime.cache_cases import Slow, doubled

REFERENCE = nnapi.device("nnapi-reference")


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[Device]]:
    """Two devices, of which one naps when it prepares; nothing is measured of their operations."""
    monkeypatch.setenv("NNAPI_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(choice, "price", lambda *_: Pricing())
    monkeypatch.setattr(tuning, "price", lambda *_: Pricing())
    with settings(tuning=True):
        yield [Device(Slow()), REFERENCE]


def test_later_compilations_take_what_was_found(machine: list[Device]) -> None:
    model = doubled()
    plan = tune(model, machine)
    assert plan.measured is not None
    known = recall_measurements(make_key(model, machine, PrepareOptions()))
    assert known.choice is not None
    assert (known.choice.device,) == plan.devices == compile(model, machine).plan.devices


def test_what_was_kept_before_is_forgotten(machine: list[Device]) -> None:
    model = doubled()
    key = make_key(model, machine, PrepareOptions())
    keep_measurements(key, {"an old one": 1.0}, 0, Plan(model, (run_everything_on(model, "slow"),), (), 123.0))
    assert compile(model, machine).plan.predicted == 123
    assert tune(model, machine).predicted != 123
    assert "an old one" not in recall_measurements(key).times


def test_nor_does_a_cache_keep_the_old_choice(machine: list[Device], monkeypatch: pytest.MonkeyPatch) -> None:
    model = doubled()
    key = make_key(model, machine, PrepareOptions())
    keep_measurements(key, {}, 0, Plan(model, (run_everything_on(model, "slow"),), (), 123.0))
    assert compile(model, machine, cache=True).plan.predicted == 123
    tune(model, machine)
    assert compile(model, machine, cache=True).plan.predicted != 123


def test_one_device_is_no_choice(machine: list[Device]) -> None:
    assert tune(doubled(), machine[:1]).devices == ("slow",)


def test_tuning_that_is_switched_off_is_on_for_it(machine: list[Device]) -> None:
    with settings(tuning=False):
        assert tune(doubled(), machine).measured is not None


def test_costs_are_measured_until_nothing_is_missing(machine: list[Device], monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def price(*_: object) -> Pricing:
        calls.append(min(len(calls), 3))
        return Pricing({"slow": type("Known", (), {"costs": range(calls[-1])})})  # type: ignore[dict-item]

    monkeypatch.setattr(tuning, "price", price)
    tune(doubled(), machine)
    assert calls == [0, 1, 2, 3, 3]
