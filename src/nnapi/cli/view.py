"""``nnapi view``: show the plan of a model in the browser."""

import json
import os
import tempfile
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from nnapi.cli.explain import compile_with_trials
from nnapi.cli.options import (
    AsPrecision,
    AsWeights,
    InputShapes,
    Int16AsFloat,
    ModelFile,
    Names,
    ProfileFile,
    Threads,
    add_profile,
    device_option,
    load,
    need_page,
)
from nnapi.cli.printing import console
from nnapi.report.graph import graph_data
from nnapi.report.html import explain_page
from nnapi.report.model_explorer import node_data as make_node_data
from nnapi.store.files import PRIVATE, PUBLIC, replace_file


def view(
    model: ModelFile,
    device: Annotated[Names, device_option("Choose among these devices only (may be repeated).")] = None,
    profile: ProfileFile = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write the page to this file, and open no browser."),
    ] = None,
    node_data: Annotated[
        Path | None,
        typer.Option(
            "--node-data", metavar="FILE", help="Write the devices of the operations to this file, for Model Explorer."
        ),
    ] = None,
    threads: Threads = None,
    int16_as_float: Int16AsFloat = False,
    weights: AsWeights = None,
    precision: AsPrecision = None,
    shapes: InputShapes = None,
) -> None:
    """Show the plan of a model in the browser: its graph, colored by device, with costs and reasons.

    The page is a file that needs no network. Without a browser, its path is printed. `nnapi explain` prints the same
    plan as text.
    """
    need_page(output, "--output")
    out = console()
    plan = compile_with_trials(
        out, lambda: load(model, int16_as_float, shapes, weights), add_profile(profile, device), precision, threads
    ).noted_plan()
    graph = graph_data(plan)
    if node_data:
        _write(node_data, json.dumps(make_node_data(plan), indent=1, ensure_ascii=False))
        out.print(f"node data for Model Explorer written to {node_data}", markup=False)
    file = output or _choose_file()
    _write(file, explain_page(graph), PUBLIC if output else PRIVATE)
    out.print(f"{graph['summary']}\nwritten to {file}", markup=False)
    if output is None and not _open(file):
        out.print("no browser was found: open this file in one", markup=False)


def _choose_file() -> Path:
    """Return a new name in the system's temporary directory; the page outlives the command, as the browser reads it."""
    return Path(tempfile.gettempdir()) / f"nnapi-view-{os.urandom(8).hex()}.html"


def _write(file: Path, text: str, mode: int = PUBLIC) -> None:
    with replace_file(file, mode) as opened:
        opened.write(text.encode("utf-8", "replace"))


def _open(file: Path) -> bool:
    try:
        return webbrowser.get().open(file.absolute().as_uri())
    except webbrowser.Error:
        return False
