"""``nnapi tune``: find the fastest plans of models before they are used."""

import time
from pathlib import Path
from typing import Annotated

import typer

import nnapi
from nnapi.cli.inputs import read_arrays
from nnapi.cli.options import AsPrecision, AsWeights, Json, ModelFiles, Names, Threads, device_option, load
from nnapi.cli.printing import console, duration, print_json
from nnapi.cli.progress import progress
from nnapi.errors import Mistake
from nnapi.report.machine import machine
from nnapi.runtime.planning.explain import as_data, list_times


def tune(
    models: ModelFiles,
    device: Annotated[Names, device_option("Choose among these devices only (may be repeated).")] = None,
    inputs: Annotated[
        list[Path] | None,
        typer.Option(
            "--input", metavar="F", help="A file for each input of the model (repeat it for more); zeros by default."
        ),
    ] = None,
    threads: Threads = None,
    weights: AsWeights = None,
    precision: AsPrecision = None,
    as_json: Json = False,
) -> None:
    """Compare the plans of models now, and keep the fastest for later compilations.

    Without this command, runs of the model compare plans in the background. Earlier results are removed. Compilations
    with the same devices and threads use the plan.
    """
    if inputs and len(models) > 1:
        raise Mistake(f"--input needs a single model, got {len(models)}")
    out, results = console(), []
    with progress(out, len(models)) as step:
        for file in models:
            name = f"comparing plans of {file.name}"
            step(name)
            begin = time.perf_counter()
            model = load(file, weights=weights)
            if inputs and len(inputs) != len(model.inputs):
                raise Mistake(f"{model.name} takes {len(model.inputs)} inputs, got {len(inputs)} files (--input)")
            given = read_arrays(model, inputs) if inputs else None
            plan = nnapi.tune(model, device, threads=threads, precision=precision, inputs=given)
            seconds = time.perf_counter() - begin
            results.append({"file": str(file), "seconds": seconds, "plan": as_data(plan)})
            if not as_json:
                out.print(f"{file.name}, in {duration(seconds)}", markup=False)
                out.print(*(f"  {line}" for line in [*list_times(plan), *plan.notes]), sep="\n", markup=False)
    if as_json:
        print_json("tune", {"machine": machine(), "models": results})
