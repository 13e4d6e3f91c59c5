"""The benchmark of choices: every device and variant that is compared runs, and the active plan beside them."""

from itertools import count
from pathlib import Path

import pytest

from benchmarks.choices import (
    ACTIVE,
    TIMED,
    WARM,
    Runs,
    compare,
    make_inputs,
    parse,
    prepare_all,
    run_one,
    time_alternating,
)
from nnapi.importers import load

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits_float.tflite"


def test_plans_run_in_turns() -> None:
    model = load(DIGITS)
    assert list(prepare_all(model, make_inputs(model), 1)) == ["everything on nnapi-reference"]
    counted: list[str] = []
    runs: Runs = {name: lambda name=name: counted.append(name) for name in ("a", "b")}  # type: ignore[misc]
    times = time_alternating(runs, 0.001, clock=count().__next__)  # one second for each plan, whatever the machine does
    each = WARM + TIMED
    turn = counted[4 : 4 + 2 * each]
    assert turn in ([*"a" * each, *"b" * each], [*"b" * each, *"a" * each])
    assert len(counted) == 4 + each * sum(map(len, times.values()))


def test_plans_are_compared_turn_by_turn() -> None:
    """One disturbed turn, of either plan, decides nothing."""
    times = {"a": [2.0, 2.0, 90.0, 4.0, 2.0], ACTIVE: [1.0, 1.0, 1.0, 2.0, 50.0], "b": [0.5, 0.5]}
    assert compare(times) == {"a": 2.0, "b": 0.5}


def test_the_active_plan_is_among_them(monkeypatch: pytest.MonkeyPatch) -> None:
    found = run_one(parse([str(DIGITS), "--seconds", "0.01", "--leisure", "0.01"]), DIGITS)
    assert found.plan == "everything on nnapi-reference"
    assert found.changes == 0
    assert found.last > 0
    assert found.ratio == 1  # no other plan takes it
    assert found.again > 0


def test_the_arguments() -> None:
    options = parse(["model.tflite", "--busy", "2"])
    assert (options.busy, options.seconds, options.models) == (2, 5.0, [Path("model.tflite")])
