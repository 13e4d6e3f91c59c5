"""``nnapi explain``: show the plan of a model with reasons and costs."""

from collections.abc import Callable
from typing import Annotated

import nnapi
from nnapi.cli.options import (
    AsPrecision,
    AsWeights,
    InputShapes,
    Int16AsFloat,
    Json,
    ModelFile,
    Names,
    Page,
    ProfileFile,
    Threads,
    add_profile,
    device_option,
    load,
    need_page,
)
from nnapi.cli.printing import Console, console, print_json
from nnapi.cli.progress import progress
from nnapi.model.precision import PrecisionName
from nnapi.report.graph import graph_data
from nnapi.report.html import explain_page
from nnapi.runtime.settings import is_tuning
from nnapi.store.files import write_text


def explain(
    model: ModelFile,
    device: Annotated[Names, device_option("Choose among these devices only (may be repeated).")] = None,
    profile: ProfileFile = None,
    threads: Threads = None,
    html: Page = None,
    int16_as_float: Int16AsFloat = False,
    weights: AsWeights = None,
    precision: AsPrecision = None,
    shapes: InputShapes = None,
    as_json: Json = False,
) -> None:
    """Show the plan for a model: its partitions, and the device, costs and reasons of each operation."""
    need_page(html)
    out = console()
    compilation = compile_with_trials(
        out, lambda: load(model, int16_as_float, shapes, weights), add_profile(profile, device), precision, threads
    )
    graph = graph_data(compilation.noted_plan())
    if html:
        write_text(html, explain_page(graph))
    if as_json:
        print_json("explain", graph)
    elif html:
        out.print(f"{graph['summary']}\nwritten to {html}", markup=False)
    else:
        out.print(compilation.explain(), markup=False)


def compile_with_trials(
    out: Console,
    read: Callable[[], nnapi.Model],
    devices: list[str] | None,
    precision: PrecisionName | None,
    threads: int | None,
) -> nnapi.Compilation:
    """Read and compile a model; unless tuning is off, wait for trials of its plans."""
    with progress(out, 2) as step:
        step("reading the model")
        loaded = read()
        step("compiling")
        with nnapi.settings(tuning=is_tuning()):
            return nnapi.compile(loaded, devices, threads=threads, precision=precision)
