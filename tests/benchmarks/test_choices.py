"""The benchmark of choices: every device and variant that is compared runs, and the active plan beside them."""

from itertools import count
from pathlib import Path
from subprocess import CalledProcessError

import pytest

from benchmarks import choices
from benchmarks.choices import (
    ACTIVE,
    TIMED,
    WARM,
    Runs,
    compare,
    make_inputs,
    parse,
    prepare_all,
    pretend,
    pretend_processor,
    run_one,
    time_alternating,
)
from nnapi.contract.timings import Processor, Timed, find_processor
from nnapi.contract.winograd import FloatWidth, find_float_width
from nnapi.drivers.reference.timings import for_processor
from nnapi.host import instruction_sets
from nnapi.importers import load
from nnapi.runtime.costs import prices
from nnapi.runtime.device import device, devices

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
    assert found.first > 0


def test_the_arguments() -> None:
    options = parse(["model.tflite", "--busy", "2"])
    assert (options.busy, options.seconds, options.models) == (2, 5.0, [Path("model.tflite")])


@pytest.mark.parametrize(
    ("name", "processor", "width"),
    [
        ("avx512", Processor.AVX2, FloatWidth.AVX512),
        ("avx2", Processor.AVX2, FloatWidth.AVX2),
        ("asimddp", Processor.DOT_PRODUCT, FloatWidth.NEON),
        ("asimd", Processor.OTHER, FloatWidth.NEON),
        ("other", Processor.OTHER, FloatWidth.OTHER),
    ],
)
def test_pretended_processors(
    name: str, processor: Processor, width: FloatWidth, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(instruction_sets, "read_line", instruction_sets.read_line)
    try:
        pretend_processor(name)
        assert (find_processor(), find_float_width()) == (processor, width)
    finally:
        monkeypatch.undo()
        for cached in (instruction_sets.find_instruction_sets, find_processor, find_float_width):
            cached.cache_clear()


def test_pretended_timings_are_wrong_by_a_factor_of_up_to_8_for_each_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prices, "find_processor", find_processor)
    for each in devices():
        if isinstance(each.driver, Timed):
            monkeypatch.setattr(each.driver, "timings", each.driver.timings)
    pretend(1)
    driver, right = device("nnapi-reference").driver, for_processor(Processor.OTHER)
    assert isinstance(driver, Timed)
    found = driver.timings()
    assert found is not None
    ratios = {each: found.costs[each].byte / cost.byte for each, cost in right.costs.items() if cost.byte}
    assert all(1 / 8 <= ratio <= 8 for ratio in ratios.values())
    assert len({round(ratio, 6) for ratio in ratios.values()}) > 4, "one for each kind"
    assert vars(prices)["find_processor"]() is Processor.OTHER


def test_models_that_fail_are_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(options: object, path: Path) -> None:
        raise CalledProcessError(1, "python", stderr="Traceback\nBadDataError: no shapes\n")

    monkeypatch.setattr(choices, "run_apart", fail)
    monkeypatch.setattr("sys.argv", ["choices.py", "a.tflite"])
    assert choices.main() == 1
    assert "BadDataError: no shapes" in capsys.readouterr().out
