"""``nnapi trace``: record a trace of a model's runs, or print the timing table of a trace."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text
from typer.core import TyperGroup

import nnapi
from nnapi import trace as tracing
from nnapi.cli.command import Command, refuse_options
from nnapi.cli.inputs import read_arrays
from nnapi.cli.options import (
    AsPrecision,
    AsWeights,
    InputShapes,
    Int16AsFloat,
    ModelFile,
    Names,
    Seed,
    Threads,
    device_option,
    load,
)
from nnapi.cli.printing import console, print_json
from nnapi.cli.progress import progress
from nnapi.errors import UnusableFile
from nnapi.printable import pluralize, printable
from nnapi.report.trace_writer import FORMATS, write_trace
from nnapi.runtime.device import describe_substitutes
from nnapi.trace.marks import from_ftrace
from nnapi.trace.parse import Report, parse, parse_file
from nnapi.trace.systrace import to_ftrace
from nnapi.trace.timing_table import detail, list_runs, name_run, table


class Trace(TyperGroup):
    """A group in which ``nnapi trace MODEL`` records a trace; ``nnapi trace parse FILE`` reads one."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        is_record = args and args[0] not in self.commands and args[0] not in ctx.help_option_names
        return super().parse_args(ctx, ["record", *args] if is_record else args)


app = typer.Typer(
    cls=Trace,
    help="""Record a trace of a model's runs (`nnapi trace MODEL -o FILE`), or read one (`nnapi trace parse FILE`).

    `NNAPI_TRACE=FILE` in the environment records any program that uses NNAPI, from its first call until it ends.""",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)


@app.command(cls=Command)
def record(
    model: ModelFile,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="The trace file; .html and .txt use Android's systrace format, .json uses Chrome's."
        ),
    ],
    runs: Annotated[int, typer.Option("--runs", "-r", min=1, help="Number of runs, on random values.")] = 5,
    device: Annotated[Names, device_option("Run on this device only (may be repeated).")] = None,
    threads: Threads = None,
    seed: Seed = 0,
    int16_as_float: Int16AsFloat = False,
    weights: AsWeights = None,
    precision: AsPrecision = None,
    shapes: InputShapes = None,
) -> None:
    """Load, compile and run a model with tracing on. `nnapi trace MODEL` is short for this."""
    if output.suffix not in FORMATS:
        raise typer.BadParameter(f"{output.name} must end in {', '.join(FORMATS)}", param_hint="--output")
    out = console()
    run = tracing.section(f"[NN_LA_PO]{model.name}")
    with progress(out, runs + 2) as step, tracing.recording() as recorder, run:
        step("reading the model")
        loaded = load(model, int16_as_float, shapes, weights)
        step("compiling")
        with tracing.section("[NN_LA_PC]compile"):
            compilation = nnapi.compile(loaded, device, threads=threads, precision=precision)
        with tracing.section("[NN_LA_PI]inputs"):
            inputs = read_arrays(loaded, [], seed)
        for number in range(runs):
            step(f"run {number + 1} of {runs}")
            with tracing.section("[NN_LA_PE]run"):
                compilation.run(*inputs)
    spans = recorder.spans()
    report = parse(from_ftrace(to_ftrace(spans)))
    write_trace(output, spans, f"{model.name} on {', '.join(d.name for d in compilation.devices)}")
    _show(out, report, False, False)
    where = "" if output.suffix == ".txt" else "; open it at ui.perfetto.dev"
    out.print(Text(f"{output}: {pluralize(len(spans), 'section')}{where}", style="bold"))
    for note in describe_substitutes(compilation.devices):
        out.print(Text(note))


@app.command("parse", cls=Command)
def parse_command(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="An Android systrace (HTML), ftrace's text or Chrome's JSON.", show_default=False
        ),
    ],
    total_times: Annotated[
        bool, typer.Option("--total-times", help="Include the times of called layers in each layer's time.")
    ] = False,
    print_detail: Annotated[
        bool, typer.Option("--print-detail", help="Also list the sections that contribute to the times.")
    ] = False,
    per_execution: Annotated[
        bool,
        typer.Option("--per-execution", help="Show only the execution phase, divided by the number of executions."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the statistics of the complete runs as JSON.")] = False,
) -> None:
    """Print how long each layer took in each phase, for every run in a trace.

    By default the times are a layer's own, without the layers that it calls. n/a marks a time that was not measured; a
    star marks totals that lack such times.
    """
    if as_json:
        refuse_options(["print_detail"], "--json has no sections")
    report = parse_file(file)
    notes = list(report.notes)
    if as_json:
        print_json("trace", {"runs": list_runs(report, total_times=total_times, per_execution=per_execution)})
        notes += [f"{name_run(run)}: {note}" for run in report.runs for note in run.notes]
    elif report.runs:
        _show(console(), report, total_times, per_execution, print_detail)
    else:
        raise UnusableFile(f"{file.name} contains no sections of the NNAPI runtime")
    for note in notes:
        typer.echo(f"note: {printable(note)}", err=True)


def _show(out: Console, report: Report, total_times: bool, per_execution: bool, print_detail: bool = False) -> None:
    for run in report.runs:
        lines = table(run, total_times=total_times, per_execution=per_execution)
        out.print(Text(lines), soft_wrap=True)
        if print_detail:
            for line in detail(run):
                out.print(Text(line), soft_wrap=True)
        out.print()
