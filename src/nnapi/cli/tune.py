"""``nnapi tune``: find out what is fastest for models before they are needed."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

import nnapi
from nnapi.cli.loading import AsWeights, load
from nnapi.cli.progress import progress
from nnapi.cli.text import console, duration, print_json
from nnapi.runtime.planning.explain import as_data, list_times


def tune(
    models: Annotated[list[Path], typer.Argument(metavar="MODEL...", help="Model files.", show_default=False)],
    device: Annotated[
        list[str] | None,
        typer.Option("--device", "-d", help="Choose among these devices only (may be repeated)."),
    ] = None,
    threads: Annotated[
        int | None, typer.Option("--threads", min=1, help="How many threads a run may use; by default that is chosen.")
    ] = None,
    weights: AsWeights = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure models on the devices of this machine, and keep what is fastest for later compilations.

    What was found out of them before is forgotten. Compilations for the same devices and threads take what is found.
    """
    out, told = console(), []
    with progress(out, len(models)) as step:
        for file in models:
            step(f"measuring {file.name}")
            begin = time.perf_counter()
            plan = nnapi.tune(load(file, weights=weights), device, threads=threads)
            seconds = time.perf_counter() - begin
            told.append({"file": str(file), "seconds": seconds, "plan": as_data(plan)})
            if not as_json:
                out.print(f"{file.name}, in {duration(seconds)}", markup=False)
                out.print(*(f"  {line}" for line in list_times(plan)), sep="\n", markup=False)
    if as_json:
        print_json(told)
