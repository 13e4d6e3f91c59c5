"""Measuring devices: figures that are exact come out as they are, and nothing goes on for long."""

from pathlib import Path

import pytest

from nnapi import device
from nnapi.runtime.autotune import timing
from nnapi.runtime.costs import calibration
from nnapi.runtime.costs.calibration import BASE, calibrate, measure_all
from nnapi.runtime.costs.cost_tables import Cost, Costs, Table
from nnapi.runtime.costs.microbenchmarks import RECIPES, samples
from nnapi.runtime.costs.workload import Element, Kind
from tests.runtime.cost_cases import BYTE, LAUNCH, Clock, exact

CONVOLUTION = Kind.CONVOLUTION, Element.UNSIGNED
COSTS = {
    Kind.CONVOLUTION: Cost(2e-6, 3e-12, 5e-11, 4e-9, 2e-8),
    Kind.DEPTHWISE: Cost(2e-6, 3e-11, 0.0, 0.0, 4e-9),
    Kind.ELEMENTWISE: Cost(4e-7, 0.0, 7e-12),
    Kind.RESIZE: Cost(9e-6, 0.0, 4e-10),
}


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    invented = Clock()
    for module in (calibration, timing):
        monkeypatch.setattr(module, "time", invented)
    return invented


@pytest.fixture
def costs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Costs:
    monkeypatch.setenv("NNAPI_CACHE_DIR", str(tmp_path))
    return Costs()


@pytest.mark.parametrize("kind", COSTS)
@pytest.mark.parametrize("element", [Element.FLOAT32, Element.UNSIGNED, Element.SIGNED])
def test_the_figures_are_found(clock: Clock, costs: Costs, kind: Kind, element: Element) -> None:
    exactly, _ = exact(clock, costs=COSTS)
    calibrate(costs, exactly, 1, [(kind, element)])
    table = costs.table(exactly, 1)
    assert table.launch == pytest.approx(LAUNCH, rel=0.01)
    assert table.byte == pytest.approx(BYTE, rel=0.01)
    assert table.costs[kind, element] == pytest.approx(COSTS[kind], rel=0.01)
    assert table.costs[BASE] == pytest.approx(COSTS[Kind.ELEMENTWISE], rel=0.01)


def test_what_was_measured_is_not_measured_again(clock: Clock, costs: Costs) -> None:
    exactly, driver = exact(clock)
    calibrate(costs, exactly, 2, [CONVOLUTION, CONVOLUTION])
    runs = driver.runs
    calibrate(costs, exactly, 2, [CONVOLUTION, BASE])
    assert driver.runs == runs > 0
    assert set(driver.threads) == {2}
    calibrate(costs, exactly, 1, [CONVOLUTION])
    assert driver.runs > runs


@pytest.mark.parametrize("how", ["refused", "broken"])
def test_a_class_that_does_not_run_is_tried_once(clock: Clock, costs: Costs, how: str) -> None:
    exactly, driver = exact(clock, **{how: [Kind.CONVOLUTION]})
    wanted = [CONVOLUTION, (Kind.RESIZE, Element.FLOAT32)]
    calibrate(costs, exactly, 1, wanted)
    table = costs.table(exactly, 1)
    assert table.costs[CONVOLUTION] is None
    assert table.costs[Kind.RESIZE, Element.FLOAT32] is not None
    runs = driver.runs
    calibrate(costs, exactly, 1, wanted)
    assert driver.runs == runs


def test_a_device_that_adds_nothing_is_not_measured(clock: Clock, costs: Costs) -> None:
    exactly, driver = exact(clock, refused=[Kind.ELEMENTWISE])
    calibrate(costs, exactly, 1, [CONVOLUTION])
    assert costs.table(exactly, 1).launch is None
    assert costs.table(exactly, 1).costs[CONVOLUTION] is None
    assert driver.runs == 0


def test_a_slow_device_is_left_after_two_runs(clock: Clock, costs: Costs) -> None:
    exactly, driver = exact(clock, slower=1e5)
    calibrate(costs, exactly, 1, [CONVOLUTION])
    assert driver.runs == 2
    assert costs.table(exactly, 1).costs == {BASE: None, CONVOLUTION: None}


def test_the_budget_is_kept_and_the_next_goes_on(clock: Clock, costs: Costs) -> None:
    exactly, driver = exact(clock)
    wanted = [(kind, Element.FLOAT32) for kind in RECIPES]
    calibrate(costs, exactly, 1, wanted, 0.0)
    assert driver.runs == 0
    calibrate(costs, exactly, 1, wanted, 0.02)
    assert clock.now < 0.04
    first = set(costs.table(exactly, 1).costs)
    assert BASE in first
    assert len(first) < len(wanted)
    calibrate(costs, exactly, 1, wanted, 1.0)
    assert set(costs.table(exactly, 1).costs) == set(wanted)


def test_what_takes_long_to_make_ready_is_left_in_time(clock: Clock, costs: Costs) -> None:
    exactly, driver = exact(clock, making=0.1, loading=5.0)
    calibrate(costs, exactly, 1, [CONVOLUTION], patience=0.25)
    assert costs.table(exactly, 1) == Table()
    assert len(driver.threads) == 2
    calibrate(costs, exactly, 1, [CONVOLUTION], patience=0.25)
    assert len(driver.threads) == 2
    calibrate(costs, exactly, 1, [CONVOLUTION], patience=1.0)
    assert set(costs.table(exactly, 1).costs) == {BASE}
    assert len(driver.threads) == 2 + len(samples(*BASE))


def test_loading_the_engine_is_no_part_of_it(clock: Clock, costs: Costs) -> None:
    exactly, _ = exact(clock, making=0.01, loading=5.0)
    calibrate(costs, exactly, 1, [CONVOLUTION], patience=0.1)
    assert costs.table(exactly, 1).launch == pytest.approx(LAUNCH, rel=0.01)


def test_all_of_the_reference_can_be_measured(costs: Costs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "TOO_LONG", 10.0)  # others may keep the processors busy
    reference = device("nnapi-reference")
    measure_all(costs, reference, 1)
    table = costs.table(reference, 1)
    assert table.launch is not None
    assert {each for each, cost in table.costs.items() if cost} == {
        (kind, element) for kind in Kind for element in Element if samples(kind, element)
    }


def test_every_kind_but_the_rest_has_samples() -> None:
    assert {kind for kind in Kind if samples(kind, Element.FLOAT32)} == set(Kind) - {Kind.OTHER}
    assert {kind for kind in Kind if not samples(kind, Element.UNSIGNED)} == {Kind.OTHER, Kind.RECURRENT}
    assert {kind for kind in Kind if not samples(kind, Element.SIGNED)} == {Kind.OTHER}
