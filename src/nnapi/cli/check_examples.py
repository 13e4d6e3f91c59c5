"""``nnapi check``: run conformance examples on a device."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.text import Text

from nnapi.cli.check_lists import Lists, Outputs, exit_if_unexpected, find_versions, print_unexpected, print_verdicts
from nnapi.cli.printing import console, count_table, duration, table
from nnapi.cli.progress import progress
from nnapi.errors import Mistake
from nnapi.printable import pluralize
from nnapi.testing.conformance import ExampleSuite, match_name
from nnapi.testing.corpus import Corpus
from nnapi.testing.suite.expectations import Judged
from nnapi.testing.suite.pipeline import Plan, Suite, run
from nnapi.testing.suite.record import DeviceRun, describe_judged, name_devices
from nnapi.testing.suite.result import Result, Status, Verdict

SLOWEST = 10
USUAL = Status.PASSED, Status.FAILED, Status.SKIPPED
"""The statuses that tables always have."""


def check_examples(
    corpus: Path,
    devices: list[str] | None,
    variants: Sequence[str],
    pattern: str | None,
    jobs: int,
    patience: float,
    strict: bool,
    runtime: str,
    lists: Lists,
    outputs: Outputs,
) -> None:
    examples = Corpus(corpus)
    entries = examples.select(match_name(pattern) if pattern else None)
    if not entries:
        raise Mistake(f"{corpus}: no example is named {pattern}")
    described = {"corpus": str(corpus.absolute()), "device": find_versions(devices), "variants": list(variants)}
    plan = lists.read(described | {"strict": strict, "runtime": runtime})
    names = None if devices is None else tuple(devices)
    suite = ExampleSuite(examples, entries, tuple(variants), names, strict, runtime, patience)
    judged = collect(suite, plan, jobs, len(entries))
    found = describe_results([each.result for each in judged], corpus, devices, variants)
    found["results"] = describe_judged(judged)
    outputs.write("check", found, [DeviceRun(name_devices(devices), judged)], plan)
    if not outputs.as_json:
        _print(console(), judged, plan, variants)
    exit_if_unexpected(judged)


def collect(suite: Suite, plan: Plan, jobs: int, count: int) -> list[Judged]:
    """Run a suite of ``count`` examples with a progress bar; return the results in the order of the examples."""
    numbers = {test.example: number for number, test in enumerate(suite.tests)}
    found: list[Judged] = []
    failed = 0
    with progress(console(), len(range(plan.shard.number - 1, count, plan.shard.count))) as step:
        for test, results in run(suite, plan, jobs):
            step(f"{test.example}, {failed} failed" if failed else test.example)
            judged = [plan.expectations.judge(result) for result in results]
            failed += sum(each.verdict is Verdict.REGRESSION for each in judged)
            found += judged
    return sorted(found, key=lambda each: numbers[each.result.example])


def describe_results(
    results: Sequence[Result], corpus: Path, devices: list[str] | None, variants: Sequence[str]
) -> dict[str, Any]:
    """Return the outcome as JSON; ``device`` is null if the runtime chose the devices."""
    counts = _count(results, lambda result: (result.variant,))
    return {
        "device": ",".join(devices) if devices else None,
        "corpus": str(corpus),
        "variants": {
            name: {"total": counts[name].total(), **{str(status): counts[name][status] for status in Status}}
            for name in variants
        },
        "failures": [
            {"name": result.example, "variant": result.variant, "reason": result.reason}
            for result in results
            if result.status not in (Status.PASSED, Status.SKIPPED)
        ],
    }


def _count(results: Iterable[Result], keys: Callable[[Result], Iterable[str]]) -> defaultdict[str, Counter[Status]]:
    counts: defaultdict[str, Counter[Status]] = defaultdict(Counter)
    for result in results:
        for key in keys(result):
            counts[key][result.status] += 1
    return counts


def _print(out: Console, judged: Sequence[Judged], plan: Plan, variants: Sequence[str]) -> None:
    results = [each.result for each in judged]
    by_operation = _count(results, lambda result: result.operations)
    seen = {*USUAL, *(result.status for result in results)}
    kinds = [status for status in Status if status in seen]
    out.print(count_table("operation", dict(sorted(by_operation.items())), kinds))
    out.print()
    _print_slowest(out, results)
    skipped = Counter((each.variant, each.reason) for each in results if each.status == Status.SKIPPED)
    for (variant, reason), count in skipped.items():
        out.print(Text(f"{pluralize(count, 'run')} skipped, {variant}: {reason}", "yellow"))
    print_unexpected(out, judged)
    by_variant = _count(results, lambda result: (result.variant,))
    out.print(count_table("variant", {name: by_variant[name] for name in variants}, kinds))
    out.print()
    print_verdicts(out, judged, plan, "run")


def _print_slowest(out: Console, results: Sequence[Result]) -> None:
    seconds: Counter[str] = Counter()
    for result in results:
        seconds[result.example] += result.seconds  # type: ignore[assignment]  # a Counter of seconds
    rows = ((escape(name), duration(spent)) for name, spent in seconds.most_common(SLOWEST))
    out.print(table("slowest examples", "all variants", rows=rows, right=["all variants"]))
    out.print()
