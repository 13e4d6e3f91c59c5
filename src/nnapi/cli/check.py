"""``nnapi check``: run conformance examples or random models on a device."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.text import Text

from nnapi.capi.installation import library_problem
from nnapi.cli.check_random import check_random
from nnapi.cli.check_webnn import check_webnn
from nnapi.cli.command import refuse_options
from nnapi.cli.completion import complete_list, complete_operations
from nnapi.cli.failure import ExitCode
from nnapi.cli.options import Json, JsonFile, Names, ProfileFile, add_profile, device_option, split_names
from nnapi.cli.printing import console, count_table, duration, print_json, table, write_json
from nnapi.cli.progress import progress
from nnapi.errors import Mistake
from nnapi.printable import pluralize
from nnapi.testing.conformance import Result, Status, match_name, run
from nnapi.testing.corpus import PUBLISHED, Corpus
from nnapi.testing.runtime_classes import HERE
from nnapi.testing.variants import VARIANTS
from nnapi.testing.webnn.cases import is_webnn

SLOWEST = 10
C = "nnapi.capi.client"
"""The module whose classes call the C library."""


def check(
    corpus: Annotated[
        Path | None,
        typer.Argument(
            metavar="[CORPUS]",
            help="A folder of examples, or one .npz file; by default, the public examples. Or the W3C's tests of "
            "WebNN: a .json file, or a folder of them.",
            show_default=False,
        ),
    ] = None,
    device: Annotated[
        Names, device_option("Use this device only; repeat it to share the work between several.")
    ] = None,
    profile: ProfileFile = None,
    variants: Annotated[
        str, typer.Option(help="Variants to run, separated by commas.", autocompletion=complete_list([*VARIANTS]))
    ] = ",".join(VARIANTS),
    filter: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Part of the name, a pattern such as 'conv_*', or an operation such as CONV_2D.",
            autocompletion=complete_operations,
        ),
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, metavar="N", help="Processes that share the work.")] = 1,
    strict: Annotated[
        bool, typer.Option("--strict", help="Compare int32 outputs exactly; by default, they may be off by 1.")
    ] = False,
    via_c: Annotated[bool, typer.Option("--via-c", help="Call NNAPI through libneuralnetworks.so.")] = False,
    as_json: Json = False,
    output: JsonFile = None,
    random: Annotated[
        bool, typer.Option("--random", help="Run random models instead, and compare each device with the reference.")
    ] = False,
    seconds: Annotated[
        float, typer.Option("--seconds", "-t", min=0, metavar="N", help="How long to test each device (--random).")
    ] = 60,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of the random models (--random).")] = None,
    values: Annotated[
        str,
        typer.Option(metavar="KIND", help="Kind of the input values: ordinary, or non-finite and denormal (--random)."),
    ] = "ordinary",
    failures: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Write failures to this folder as examples (--random).")
    ] = Path("failures"),
    against: Annotated[
        str | None,
        typer.Option(
            metavar="ENGINE",
            help="Test exported files instead of devices: in litert or onnxruntime, or read again by nnapi (.tflite, "
            ".onnx) (--random).",
        ),
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Also print counts per operation (--random).")
    ] = False,
) -> None:
    """Run conformance examples, and list the failed ones with the first wrong value.

    With --random, compare random models of one or several operations of all types, overloads and shapes with the
    reference. Failures are shrunk and written; `nnapi check FILE` repeats one. The same seed gives the same models.
    """
    device = add_profile(profile, device)
    if random:
        refuse_options(["variants", "jobs", "strict", "via_c"], "--random runs models of its own")
        if corpus is not None:
            raise Mistake(f"--random generates its models: omit {corpus}")
        check_random(device, seconds, seed, values, filter, failures, verbose, as_json, output, against)
        return
    refuse_options(["seconds", "seed", "values", "failures", "against", "verbose"], "it needs --random")
    if corpus is not None and is_webnn(corpus):
        refuse_options(["variants", "jobs", "strict", "via_c"], f"{corpus} has tests of WebNN")
        check_webnn(corpus, device, filter, as_json, output)
        return
    corpus = corpus or PUBLISHED
    chosen = split_names(variants, "variant", VARIANTS)
    if not chosen:
        raise Mistake(f"--variants names no variant; there are: {', '.join(VARIANTS)}")
    if via_c and (problem := library_problem()):
        raise Mistake(problem)
    examples, wanted = Corpus(corpus), match_name(filter) if filter else None
    count = len(examples.select(wanted))
    if not count:
        raise Mistake(f"{corpus}: no example is named {filter}")
    runtime = C if via_c else HERE
    results = _collect(run(examples, device, chosen, wanted, jobs, strict=strict, runtime=runtime), count)
    found = describe_results(results, corpus, device, chosen)
    if output:
        write_json(output, "check", found)
    if as_json:
        print_json("check", found)
    else:
        _print(console(), results, chosen)
    if any(result.status == Status.FAILED for result in results):
        raise typer.Exit(ExitCode.DIFFERENT)


def _collect(running: Iterable[Result], count: int) -> list[Result]:
    results = []
    failed = 0
    with progress(console(), count) as step:
        current = None
        for result in running:
            if current != (current := (result.file, result.example)):
                step(f"{result.example}, {failed} failed" if failed else result.example)
            results.append(result)
            failed += result.status == Status.FAILED
    return results


def describe_results(
    results: Sequence[Result], corpus: Path, devices: list[str] | None, variants: list[str]
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
            if result.status == Status.FAILED
        ],
    }


def _count(results: Iterable[Result], keys: Callable[[Result], Iterable[str]]) -> defaultdict[str, Counter[Status]]:
    counts: defaultdict[str, Counter[Status]] = defaultdict(Counter)
    for result in results:
        for key in keys(result):
            counts[key][result.status] += 1
    return counts


def _print(out: Console, results: list[Result], variants: list[str]) -> None:
    by_operation = _count(results, lambda result: result.operations)
    out.print(count_table("operation", dict(sorted(by_operation.items())), Status))
    out.print()
    _print_slowest(out, results)
    _print_reasons(out, results)
    by_variant = _count(results, lambda result: (result.variant,))
    out.print(count_table("variant", {name: by_variant[name] for name in variants}, Status))
    out.print()
    failed = sum(result.status == Status.FAILED for result in results)
    out.print(f"[red]{pluralize(failed, 'run')} failed[/]" if failed else "[green]no run failed[/]")


def _print_slowest(out: Console, results: list[Result]) -> None:
    seconds: Counter[str] = Counter()
    for result in results:
        seconds[result.example] += result.seconds  # type: ignore[assignment]  # a Counter of seconds
    rows = ((escape(name), duration(spent)) for name, spent in seconds.most_common(SLOWEST))
    out.print(table("slowest examples", "all variants", rows=rows, right=["all variants"]))
    out.print()


def _print_reasons(out: Console, results: list[Result]) -> None:
    skipped = Counter((result.variant, result.reason) for result in results if result.status == Status.SKIPPED)
    for (variant, reason), count in skipped.items():
        out.print(Text(f"{pluralize(count, 'run')} skipped, {variant}: {reason}", "yellow"))
    for result in results:
        if result.status == Status.FAILED:
            out.print(Text.assemble((f"{result.example}, {result.variant}: ", "bold red"), result.reason))
    if any(result.status != Status.PASSED for result in results):
        out.print()
