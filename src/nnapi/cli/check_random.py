"""``nnapi check --random``: compare random models on a device with the reference."""

import secrets
from collections.abc import Callable, Sequence
from pathlib import Path

import typer
from rich.console import Console
from rich.text import Text

from nnapi.cli.failure import ExitCode
from nnapi.cli.file_driver import READ_AGAIN, SUFFIXES, open_engine
from nnapi.cli.printing import console, count_table, duration, print_json, write_json
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
from nnapi.testing.random.session import VALUES, Failure, Report, run

REASONS = 10


def check_random(
    names: Sequence[str] | None,
    seconds: float,
    seed: int | None,
    values: str,
    operation: str | None,
    folder: Path,
    verbose: bool,
    as_json: bool,
    output: Path | None,
    against: str | None = None,
) -> None:
    if values not in VALUES:
        raise Mistake(f"there is no kind of values {values}; there are: {', '.join(VALUES)}")
    only = _operations(operation)
    chosen, find = _choose(names, against)
    seed = secrets.randbelow(2**32) if seed is None else seed
    out = console()
    reports = []
    for name in chosen:
        with progress(out, int(seconds)) as step:
            reporter = _reporter(out, step)
            report = run(name, seed, seconds, values=values, only=only, folder=folder, progress=reporter, find=find)
        if not as_json:
            _print(out, report, verbose)
        reports.append(report)
    found = {"devices": [describe_report(report, values) for report in reports]}
    if output:
        write_json(output, "check-random", found)
    if as_json:
        print_json("check-random", found)
    if any(report.failures for report in reports):
        raise typer.Exit(ExitCode.DIFFERENT)


def _choose(names: Sequence[str] | None, against: str | None) -> tuple[Sequence[str], Find]:
    """Return the names of what is tested, and the function that returns the device for a name."""
    if against is None:
        for name in names or ():
            find_device(name)
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


def _print(out: Console, report: Report, verbose: bool) -> None:
    if verbose:
        out.print(count_table("operation", dict(sorted(report.by_operation.items())), Outcome))
        for reason, count in report.reasons.most_common(REASONS):
            out.print(Text(f"{pluralize(count, 'model')} refused: {reason}", "yellow"))
    counts = ", ".join(f"{report.counts[each]} {each}" for each in Outcome)
    models = pluralize(report.cases, "model")
    out.print(f"{report.device}, seed {report.seed}: {models} in {duration(report.seconds)}, {counts}")


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
