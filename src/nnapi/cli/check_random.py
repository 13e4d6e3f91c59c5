"""``nnapi check --random``: compare random models on a device with the reference."""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from nnapi.cli.check_lists import Lists, Outputs, exit_if_unexpected, find_versions, print_unexpected, print_verdicts
from nnapi.cli.command import refuse_options
from nnapi.cli.file_driver import READ_AGAIN, SUFFIXES, open_engine
from nnapi.cli.printing import console, count_table, duration
from nnapi.cli.progress import progress
from nnapi.errors import Mistake
from nnapi.model.operation import REGISTRY, Operation
from nnapi.operation_codes import CODES
from nnapi.printable import pluralize
from nnapi.runtime.device import device as find_device
from nnapi.runtime.device import devices as all_devices
from nnapi.testing.random.child import Find
from nnapi.testing.random.failure_description import describe
from nnapi.testing.random.judging import Outcome
from nnapi.testing.random.session import VALUES, Failure, RandomSuite, Report, run
from nnapi.testing.suite.journal import read_run
from nnapi.testing.suite.pipeline import Plan
from nnapi.testing.suite.record import DeviceRun, describe_judged
from nnapi.testing.suite.result import Verdict

REASONS = 10


@dataclass(frozen=True)
class RandomModels:
    """The random models to run, and the folder for failures."""

    seconds: float
    seed: int | None
    values: str
    operation: str | None
    folder: Path
    against: str | None = None


def check_random(
    names: Sequence[str] | None,
    models: RandomModels,
    jobs: int,
    patience: float,
    verbose: bool,
    lists: Lists,
    outputs: Outputs,
) -> None:
    if models.values not in VALUES:
        raise Mistake(f"--values is {models.values}, must be one of {', '.join(VALUES)}")
    only = _operations(models.operation)
    chosen, find = _choose(names, models.against)
    if len(chosen) > 1:
        refuse_options(["baseline", "save_baseline", "resume"], "it needs one device, and --random tests several")
    seed = _choose_seed(models.seed, lists.resume)
    tested = models.against or find_versions(chosen)
    plan = lists.read({"device": tested, "seed": seed, "values": models.values, "operation": models.operation})
    out = console()
    reports = []
    for name in chosen:
        suite = RandomSuite(
            name,
            seed,
            models.seconds,
            values=models.values,
            only=only,
            folder=models.folder,
            find=find,
            patience=patience,
        )
        with progress(out, int(models.seconds)) as step:
            report = run(suite, plan, jobs, _reporter(out, step))
        if not outputs.as_json:
            _print(out, report, plan, verbose)
        reports.append(report)
    judged = [list(map(plan.expectations.judge, report.results)) for report in reports]
    described = [
        {**describe_report(report, models.values), "results": describe_judged(results)}
        for report, results in zip(reports, judged, strict=True)
    ]
    runs = [DeviceRun(report.device, results) for report, results in zip(reports, judged, strict=True)]
    outputs.write("check-random", {"devices": described}, runs, plan)
    exit_if_unexpected([each for results in judged for each in results])


def _choose_seed(seed: int | None, resumed: Path | None) -> int:
    """Return the given seed, else that of the run to resume, else a random one."""
    if seed is not None:
        return seed
    before = None if resumed is None else read_run(resumed)
    return int(before["seed"]) if before and "seed" in before else secrets.randbelow(2**32)


def _choose(names: Sequence[str] | None, against: str | None) -> tuple[Sequence[str], Find]:
    """Return the names of what is tested, and the function that returns the device for a name."""
    if against is None:
        return names or [each.name for each in all_devices()], find_device
    if names:
        raise Mistake("--against tests files, not devices: omit --device")
    if against not in (*SUFFIXES, *READ_AGAIN):
        raise Mistake(f"--against is {against}, must be {', '.join((*SUFFIXES, *READ_AGAIN))}")
    try:
        open_engine(against)
    except ImportError as error:
        raise Mistake(f"{against} is not installed: {error}") from None
    return [against], open_engine


def _operations(name: str | None) -> tuple[Operation, ...]:
    if name is None:
        return ()
    if name not in CODES:
        raise Mistake(f"there is no operation {name}; with --random, --filter needs an operation such as CONV_2D")
    return (REGISTRY[CODES[name]],)


def _reporter(out: Console, step: Callable[[str], None]) -> Callable[[Report], None]:
    """Return a function that advances the bar by one step per second and prints each failure at once."""
    printed, moved = 0, 0

    def report_progress(report: Report) -> None:
        nonlocal printed, moved
        for failure in report.failures[printed:]:
            _print_failure(out, failure)
        printed = len(report.failures)
        while moved < report.seconds:
            step(f"{report.device}: {report.cases} models, {printed} failed")
            moved += 1

    return report_progress


def _print_failure(out: Console, failure: Failure) -> None:
    out.print(Text.assemble((f"{failure.operation}: ", "bold red"), failure.reason))
    for line in describe(failure.example):
        out.print(Text(f"  {line}"))
    where = f"model {failure.number} of seed {failure.seed}"
    out.print(Text(f"  {where}, after {duration(failure.seconds)}; {failure.file}"))


def _print(out: Console, report: Report, plan: Plan, verbose: bool) -> None:
    if verbose:
        out.print(count_table("operation", dict(sorted(report.by_operation.items())), Outcome))
        for reason, count in report.reasons.most_common(REASONS):
            out.print(Text(f"{pluralize(count, 'model')} refused: {reason}", "yellow"))
    counts = ", ".join(f"{report.counts[each]} {each}" for each in Outcome)
    models = pluralize(report.cases, "model")
    out.print(f"{report.device}, seed {report.seed}: {models} in {duration(report.seconds)}, {counts}")
    judged = list(map(plan.expectations.judge, report.results))
    if any(each.verdict is not Verdict.EXPECTED for each in judged) or plan.expectations.baseline is not None:
        print_unexpected(out, judged)
        print_verdicts(out, judged, plan, "model")


def describe_report(report: Report, values: str) -> dict[str, object]:
    return {
        "device": report.device,
        "seed": report.seed,
        "values": values,
        "seconds": report.seconds,
        **{str(each): report.counts[each] for each in Outcome},
        "operations": {
            name: {str(each): counts[each] for each in Outcome if counts[each]}
            for name, counts in sorted(report.by_operation.items())
        },
        "failures": [
            {name: getattr(failure, name) for name in ("number", "operation", "reason")}
            | {"file": str(failure.file), "seconds": failure.seconds}
            for failure in report.failures
        ],
    }
