"""``nnapi check``: run conformance examples, the W3C's tests or random models on a device."""

from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from nnapi.capi.installation import library_problem
from nnapi.cli.check_diff import diff
from nnapi.cli.check_examples import check_examples
from nnapi.cli.check_lists import Lists, Outputs
from nnapi.cli.check_page import page
from nnapi.cli.check_random import RandomModels, check_random
from nnapi.cli.check_webnn import check_webnn
from nnapi.cli.command import Command, refuse_options
from nnapi.cli.completion import complete_list, complete_operations
from nnapi.cli.options import Json, JsonFile, Names, Page, ProfileFile, add_profile, device_option, split_names
from nnapi.errors import Mistake
from nnapi.testing.corpus import PUBLISHED
from nnapi.testing.runtime_classes import HERE
from nnapi.testing.suite.worker import PATIENCE
from nnapi.testing.variants import VARIANTS
from nnapi.testing.webnn.cases import is_webnn

C = "nnapi.capi.client"
"""The module whose classes call the C library."""
EXAMPLES = "run"


class _Check(TyperGroup):
    """A group in which ``nnapi check [CORPUS]`` means ``nnapi check run [CORPUS]``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        is_named = bool(args) and args[0] in self.commands
        return super().parse_args(ctx, args if is_named else [EXAMPLES, *args])


app = typer.Typer(cls=_Check, help="Run conformance examples; show results as a page; compare two runs.")


@app.command(EXAMPLES, cls=Command)
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
    baseline: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Expected failures and refusals, with reasons; others are unexpected."),
    ] = None,
    save_baseline: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the failures and refusals of this run as a baseline.")
    ] = None,
    flakes: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Run unexpected examples again; this file lists the known flakes."),
    ] = None,
    skip: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Do not run the examples and operations that this file lists.")
    ] = None,
    shard: Annotated[str, typer.Option(metavar="k/n", help="Run one of n parts, as in 1/4.")] = "1/1",
    resume: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Record each result in this file; do not repeat those that it has."),
    ] = None,
    timeout: Annotated[
        float, typer.Option(min=0.1, metavar="N", help="Seconds after which an example counts as hung.")
    ] = PATIENCE,
    as_json: Json = False,
    output: JsonFile = None,
    html: Page = None,
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the results as JUnit XML.")] = None,
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a table, with a row for each result.")] = None,
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

    Examples run in a process of their own, so a crash or a hang of a device costs one example. `nnapi check page` makes
    a page of the results of several runs; `nnapi check diff` compares two runs.

    With --random, compare random models of one or several operations of all types, overloads and shapes with the
    reference. Failures are shrunk and written; `nnapi check FILE` repeats one. The same seed gives the same models.
    """
    device = add_profile(profile, device)
    twice = [name for name, count in Counter(device).items() if count > 1]
    if twice:
        raise Mistake(f"{twice[0]} is listed twice")
    lists = Lists(baseline, flakes, skip, shard, resume)
    outputs = Outputs(as_json, output, html, junit, csv, save_baseline)
    outputs.check()
    if random:
        refuse_options(["variants", "strict", "via_c"], "--random runs models of its own")
        if corpus is not None:
            raise Mistake(f"--random generates its models: omit {corpus}")
        models = RandomModels(seconds, seed, values, filter, failures, against)
        check_random(device, models, jobs, timeout, verbose, lists, outputs)
        return
    refuse_options(["seconds", "seed", "values", "failures", "against", "verbose"], "it needs --random")
    if corpus is not None and is_webnn(corpus):
        refuse_options(["variants", "strict", "via_c"], f"{corpus} has tests of WebNN")
        check_webnn(corpus, device, filter, jobs, timeout, lists, outputs)
        return
    chosen = split_names(variants, "variant", VARIANTS)
    if not chosen:
        raise Mistake(f"--variants names no variant; there are: {', '.join(VARIANTS)}")
    if via_c and (problem := library_problem()):
        raise Mistake(problem)
    runtime = C if via_c else HERE
    check_examples(corpus or PUBLISHED, device, chosen, filter, jobs, timeout, strict, runtime, lists, outputs)


app.command("diff", cls=Command)(diff)
app.command("page", cls=Command)(page)
