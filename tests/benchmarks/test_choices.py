"""The benchmark of choices: every device and variant that is compared runs, and the active plan beside them."""

from pathlib import Path

import pytest

from benchmarks.choices import make_inputs, parse, prepare_all, run_one, time_alternating
from nnapi.importers import load

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits_float.tflite"


def test_plans_run_in_turns() -> None:
    model = load(DIGITS)
    assert list(prepare_all(model, make_inputs(model), 1)) == ["everything on nnapi-reference"]
    counted: list[str] = []
    times = time_alternating({name: lambda name=name: counted.append(name) for name in ("a", "b")}, 0.001)  # type: ignore[misc]
    assert counted[:4] == ["a", "a", "b", "b"]
    assert all(least >= 0 for least in times.values())


def test_the_active_plan_is_among_them(monkeypatch: pytest.MonkeyPatch) -> None:
    found = run_one(parse([str(DIGITS), "--seconds", "0.01", "--leisure", "0.01"]), DIGITS)
    assert found.plan == "everything on nnapi-reference"
    assert found.changes == 0
    assert found.last > 0


def test_the_arguments() -> None:
    options = parse(["model.tflite", "--busy", "2"])
    assert (options.busy, options.seconds, options.models) == (2, 5.0, [Path("model.tflite")])
