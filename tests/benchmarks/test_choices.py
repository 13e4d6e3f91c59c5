"""The benchmark of choices: every device and form that is compared runs, and is told from the others."""

from pathlib import Path

from benchmarks.choices import parse, prepare_all, time_alternating
from nnapi.importers import load

DIGITS = Path(__file__).parents[2] / "examples" / "digits"


def test_what_is_compared_runs_in_turns() -> None:
    runs = prepare_all(load(DIGITS / "digits_float.tflite"), [("nnapi-reference", "")])
    assert list(runs) == ["nnapi-reference"]
    counted: list[str] = []
    times = time_alternating({name: lambda name=name: counted.append(name) for name in ("a", "b")}, 0.001)  # type: ignore[misc]
    assert counted[:4] == ["a", "a", "b", "b"]
    assert all(0 <= least <= median for least, median in times.values())


def test_what_it_is_told() -> None:
    options = parse(["homes", "model.tflite", "--homes", "3"])
    assert (options.what, options.homes, options.models) == ("homes", 3, [Path("model.tflite")])
