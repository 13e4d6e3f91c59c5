"""Two runs compared: what chance does is not reported, what it does not do is."""

import re
from dataclasses import replace

import pytest

from nnapi.report.compare import Change, Effect, compare, interval
from nnapi.report.result import Benchmark, Measurement
from tests.report.report_cases import benchmark, measurement, model_result


def run(*measurements: Measurement) -> Benchmark:
    return benchmark(model_result("m", measurements))


def changes(before: Measurement, after: Measurement) -> dict[str, Change]:
    return {change.figure: change for change in compare(run(before), run(after)).changes}


def test_the_same_machine_twice() -> None:
    found = changes(measurement("nnapi", 2.0, seed=1), measurement("nnapi", 2.0, seed=2))
    assert {change.verdict for change in found.values()} == {Effect.SAME}


def test_slower() -> None:
    before, after = run(measurement("nnapi", 2.0)), run(measurement("nnapi", 2.4, seed=1))
    found = compare(before, after)
    assert {change.figure for change in found.regressions} == {"latency", "throughput", "load", "compile"}
    latency = found.changes[0]
    assert latency.ratio == pytest.approx(1.2, rel=0.03)
    assert latency.interval is not None
    assert latency.interval[0] < latency.ratio < latency.interval[1]
    assert latency.p is not None
    assert latency.p < 0.01
    assert not compare(after, before).regressions


def test_what_another_engine_lost_too_is_the_machine_s() -> None:
    before = run(measurement("nnapi", 2.0), measurement("litert", 1.0))
    after = run(measurement("nnapi", 3.0, seed=1), measurement("litert", 1.5, seed=2))
    found = compare(before, after)
    assert not found.regressions
    assert {change.verdict for change in found.changes if change.is_ours and change.p is not None} == {Effect.MACHINE}
    worse = compare(before, run(measurement("nnapi", 3.0, seed=1), measurement("litert", 1.2, seed=2)))
    assert {change.figure for change in worse.regressions} == {"latency", "throughput", "load", "compile"}


def test_an_updated_engine_is_named() -> None:
    before, after = run(measurement("litert", 1.0)), run(replace(measurement("litert", 1.0), version="2.0"))
    assert compare(before, after).notes == ("litert was 1.0, is 2.0",)


def test_significant_but_small() -> None:
    found = compare(run(measurement("nnapi", 2.0)), run(measurement("nnapi", 2.06, seed=1)))
    assert not found.regressions
    assert compare(run(measurement("nnapi", 2.0)), run(measurement("nnapi", 2.06, seed=1)), threshold=0.01).regressions


def test_large_but_by_chance() -> None:
    before = Measurement("nnapi", latency=tuple((s,) for s in (1.0, 9.0, 2.0, 8.0, 5.0)))
    after = Measurement("nnapi", latency=tuple((s,) for s in (1.5, 9.5, 6.0, 8.5, 2.5)))
    assert changes(before, after)["latency"].verdict is Effect.SAME


def test_too_few_rounds_are_no_evidence() -> None:
    before, after = (measurement("nnapi", ms, rounds=3) for ms in (2.0, 9.0))
    assert changes(before, after)["latency"].verdict is Effect.UNKNOWN


def test_other_engines_do_not_count() -> None:
    found = compare(run(measurement("litert", 2.0)), run(measurement("litert", 4.0, seed=1)))
    assert not found.regressions
    assert found.changes[0].verdict is Effect.WORSE
    assert any(re.search(r"other engines.* take (1\.9|2\.0)\d× as long", note) for note in found.notes)


@pytest.mark.parametrize(("after", "verdict"), [(0.69, Effect.WORSE), (0.695, Effect.SAME), (0.8, Effect.BETTER)])
def test_accuracy(after: float, verdict: Effect) -> None:
    found = changes(Measurement("nnapi", accuracy={"top-1": 0.702}), Measurement("nnapi", accuracy={"top-1": after}))
    assert found["top-1"].verdict is verdict


def test_memory_and_errors() -> None:
    before = Measurement("nnapi", peak=100, accuracy={"mean squared error": 1.0})
    after = Measurement("nnapi", peak=120, accuracy={"mean squared error": 0.5})
    found = changes(before, after)
    assert found["peak memory"].verdict is Effect.WORSE
    assert found["mean squared error"].verdict is Effect.BETTER


def test_what_no_longer_runs_is_worse() -> None:
    found = compare(run(measurement("nnapi", 2.0)), run(Measurement("nnapi", failure="it broke")))
    assert [change.figure for change in found.regressions] == ["runs"]


def test_notes() -> None:
    before, after = run(measurement("nnapi", 2.0)), run(measurement("nnapi", 2.0), measurement("litert", 1.0))
    after = replace(
        after, machine={**after.machine, "processor": "Pascaline"}, settings={**after.settings, "threads": 4}
    )
    assert compare(before, after).notes == (
        "the machines differ: processor was Abacus, is Pascaline",
        "the settings differ: threads was 1, is 4",
        "only one of the runs has litert on m",
    )


def test_the_interval_is_the_same_every_time() -> None:
    assert interval([1.0, 2.0, 3.0], [2.0, 4.0, 6.0]) == interval([1.0, 2.0, 3.0], [2.0, 4.0, 6.0])
