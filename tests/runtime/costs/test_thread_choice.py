"""When devices are measured, and on how many threads a model runs."""

import os
from pathlib import Path

import pytest

from nnapi import Device, DeviceTypeCode, Model, PreferenceCode, compile, settings
from nnapi.drivers.base import PrepareOptions
from nnapi.runtime.autotune import timing
from nnapi.runtime.costs import calibration, thread_choice
from nnapi.runtime.costs.cost_tables import Cost, Table, open_costs
from nnapi.runtime.costs.thread_choice import WORTH_SHARING, price
from nnapi.runtime.costs.workload import Element, Kind
from tests.runtime.cost_cases import Clock, Exact, exact
from tests.runtime.device_cases import REFERENCE, chain

OPERATIONS = 40
CLASS = Kind.ELEMENTWISE, Element.FLOAT32
ONE, MANY = PrepareOptions(threads=1), PrepareOptions()


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Device]:
    """The devices of a machine with two processors, for tests to add to."""
    found: list[Device] = []
    monkeypatch.setenv("NNAPI_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(thread_choice, "all_devices", lambda: found)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1})
    return found


@pytest.fixture
def pair(machine: list[Device], monkeypatch: pytest.MonkeyPatch) -> tuple[Exact, Exact]:
    clock = Clock()
    for module in (calibration, timing):
        monkeypatch.setattr(module, "time", clock)
    (first, quick), (second, slow) = exact(clock, name="quick"), exact(clock, name="slow", slower=9.0)
    machine += [first, second]
    return quick, slow


def table(seconds: float) -> Table:
    """A table by which the model of :func:`model` takes so long."""
    return Table(0.0, 0.0, {CLASS: Cost(seconds / OPERATIONS, 0.0, 0.0)})


def model() -> Model:
    return chain(OPERATIONS)


def known(device: Device, single: float, shared: float | None = None) -> None:
    open_costs().keep(device, 1, table(single))
    if shared is not None:
        open_costs().keep(device, 2, table(shared))


def test_what_a_model_needs_is_measured_once(machine: list[Device], pair: tuple[Exact, Exact]) -> None:
    found = price(model(), machine, ONE)
    assert {name: set(table.costs) for name, table in found.tables.items()} == {"quick": {CLASS}, "slow": {CLASS}}
    runs = [driver.runs for driver in pair]
    assert min(runs) > 0
    price(model(), machine, ONE)
    assert [driver.runs for driver in pair] == runs


def test_one_device_is_not_measured(machine: list[Device], pair: tuple[Exact, Exact]) -> None:
    assert price(model(), machine[:1], ONE).tables == {"quick": Table()}
    assert pair[0].runs == 0


def test_a_device_that_was_not_found_is_not_measured(machine: list[Device], pair: tuple[Exact, Exact]) -> None:
    stranger = machine.pop()
    assert set(price(model(), [*machine, stranger], ONE).tables) == {"quick"}
    assert [driver.runs for driver in pair] == [0, 0]


@pytest.mark.parametrize(("tuning", "preference"), [(False, None), (True, PreferenceCode.PREFER_LOW_POWER)])
def test_nothing_is_measured_where_nothing_is_compared(
    machine: list[Device], tuning: bool, preference: PreferenceCode | None
) -> None:
    machine.append(REFERENCE)
    clock = Clock()
    device, driver = exact(clock, refused=list(Kind))
    machine.append(device)
    with settings(tuning=tuning):
        compile(chain(), machine, preference)
    assert driver.runs == 0
    assert open_costs().table(REFERENCE, 1) == Table()


def test_the_number_asked_for_is_kept(machine: list[Device]) -> None:
    machine.append(exact(Clock())[0])
    known(machine[0], 1.0, 0.1)
    assert price(model(), machine, PrepareOptions(threads=1)).threads == 1
    found = price(model(), machine, PrepareOptions(threads=2))
    assert (found.threads, found.tables["exact"]) == (2, table(0.1))


@pytest.mark.parametrize(
    ("single", "shared", "threads"),
    [
        (WORTH_SHARING / 2, WORTH_SHARING / 4, 1),
        (2 * WORTH_SHARING, WORTH_SHARING, 2),
        (2 * WORTH_SHARING, 2.2 * WORTH_SHARING, 2),
        (2 * WORTH_SHARING, 3 * WORTH_SHARING, 1),
        (2 * WORTH_SHARING, None, None),
    ],
)
def test_long_runs_are_shared(machine: list[Device], single: float, shared: float | None, threads: int | None) -> None:
    machine.append(exact(Clock())[0])
    known(machine[0], single, shared)
    found = price(model(), machine, MANY)
    assert found.threads == threads
    assert found.tables["exact"] == (table(shared) if threads == 2 and shared else table(single))


def test_sustained_speed_keeps_to_one_thread(machine: list[Device]) -> None:
    machine.append(exact(Clock())[0])
    known(machine[0], 1.0, 0.1)
    assert price(model(), machine, PrepareOptions(PreferenceCode.PREFER_SUSTAINED_SPEED)).threads == 1


def test_without_measurements_the_drivers_choose(machine: list[Device]) -> None:
    machine.append(exact(Clock())[0])
    assert price(model(), machine, MANY).threads is None


def test_the_cpu_has_one_table(machine: list[Device]) -> None:
    machine.append(exact(Clock(), type=DeviceTypeCode.DEVICE_CPU)[0])
    known(machine[0], 1.0)
    assert price(model(), machine, PrepareOptions(threads=2)).tables["exact"] == table(1.0)


def test_a_tiny_model_is_not_worth_measuring(machine: list[Device], pair: tuple[Exact, Exact]) -> None:
    found = price(chain(1), machine, MANY)
    assert found.is_tiny
    assert found.threads == 1
    assert [driver.runs for driver in pair] == [0, 0]
    assert not price(model(), machine, ONE).is_tiny


def test_a_device_out_of_use_is_not_measured(machine: list[Device], pair: tuple[Exact, Exact]) -> None:
    pair[0].outage = lambda: "its threads stayed behind"  # type: ignore[attr-defined]
    price(model(), machine, ONE)
    assert pair[0].runs == 0
    assert open_costs().table(machine[0], 1) == Table()
