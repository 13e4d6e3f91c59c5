"""``nnapi explain``: show the plan of a model with reasons and costs."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

import nnapi
from nnapi.cli.options import (
    AsPrecision,
    AsWeights,
    InputShapes,
    Int16AsFloat,
    Json,
    ModelFile,
    Names,
    ProfileFile,
    add_profile,
    device_option,
    load,
)
from nnapi.cli.printing import Console, console, print_json
from nnapi.cli.progress import progress
from nnapi.model.precision import PrecisionName
from nnapi.report.graph import graph_data
from nnapi.report.html import explain_page
from nnapi.runtime.settings import is_tuning


def explain(
    model: ModelFile,
    device: Annotated[Names, device_option("Choose among these devices only (may be repeated).")] = None,
    profile: ProfileFile = None,
    html: Annotated[Path | None, typer.Option(help="Write a page with the graph, colored by device.")] = None,
    int16_as_float: Int16AsFloat = False,
    weights: AsWeights = None,
    precision: AsPrecision = None,
    shapes: InputShapes = None,
    as_json: Json = False,
) -> None:
    """Show the plan for a model: its partitions, and the device, costs and reasons of each operation."""
    out = console()
    compilation = compile_with_trials(
        out, lambda: load(model, int16_as_float, shapes, weights), add_profile(profile, device), precision
    )
    graph = graph_data(compilation.noted_plan())
    if html:
        html.write_text(explain_page(graph), encoding="utf-8", errors="replace")
    if as_json:
        print_json("explain", graph)
    elif html:
        out.print(f"{graph['summary']}\nwritten to {html}", markup=False)
    else:
        out.print(compilation.explain(), markup=False)


def compile_with_trials(
    out: Console, read: Callable[[], nnapi.Model], devices: list[str] | None, precision: PrecisionName | None
) -> nnapi.Compilation:
    """Read and compile a model; unless tuning is off, wait for trials of its plans."""
    with progress(out, 2) as step:
        step("reading the model")
        loaded = read()
        step("compiling")
        with nnapi.settings(tuning=is_tuning()):
            return nnapi.compile(loaded, devices, precision=precision)
