"""``nnapi tune``: find the fastest plans of models before they are used."""

import time
from pathlib import Path
from typing import Annotated, Any

import typer

import nnapi
from nnapi.cli.failure import ExitCode, describe_failure, fail, name_in_failure, warn
from nnapi.cli.inputs import read_arrays
from nnapi.cli.options import AsPrecision, AsWeights, Json, ModelFiles, Names, Threads, Weights, device_option, load
from nnapi.cli.printing import Console, console, duration, print_json
from nnapi.cli.progress import progress
from nnapi.errors import Mistake, NnapiError
from nnapi.model.precision import PrecisionName
from nnapi.printable import pluralize
from nnapi.report.machine import machine
from nnapi.runtime.planning.explain import as_data, list_times
from nnapi.store.failed_writes import noting_failed_writes


def tune(
    models: ModelFiles,
    device: Annotated[Names, device_option("Choose among these devices only (may be repeated).")] = None,
    inputs: Annotated[
        list[Path] | None,
        typer.Option(
            "--input", metavar="FILE", help="A file for each input of the model (repeat it for more); zeros by default."
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
            step(f"comparing plans of {file.name}")
            try:
                found = _tune(file, device, inputs, threads, weights, precision)
            except (Mistake, NnapiError, OSError) as error:
                if len(models) == 1:
                    raise
                found = {"file": str(file), "error": describe_failure(error)[1]}
                warn(name_in_failure(file, error))
            results.append(found)
            if not as_json and "plan" in found:
                _show(out, found)
    data = [{name: value for name, value in found.items() if name != "lines"} for found in results]
    if as_json:
        print_json("tune", {"machine": machine(), "models": data})
    if failed := sum("error" in found for found in results):
        raise typer.Exit(fail(f"{failed} of {pluralize(len(models), 'model')} failed", ExitCode.REFUSED))


def _tune(
    file: Path,
    device: Names,
    inputs: list[Path] | None,
    threads: int | None,
    weights: Weights | None,
    precision: PrecisionName | None,
) -> dict[str, Any]:
    """Return the results for one model; Mistake if they cannot be kept."""
    begin = time.perf_counter()
    model = load(file, weights=weights)
    if inputs and len(inputs) != len(model.inputs):
        takes = pluralize(len(model.inputs), "input")
        raise Mistake(f"{model.name} takes {takes}, got {pluralize(len(inputs), 'file')} (--input)")
    given = read_arrays(model, inputs) if inputs else None
    with noting_failed_writes() as failures:
        plan = nnapi.tune(model, device, threads=threads, precision=precision, inputs=given)
    if failures:
        raise Mistake(f"the fastest plan is not kept for later compilations: {describe_failure(failures[0])[1]}")
    lines = [*list_times(plan), *plan.notes]
    return {"file": str(file), "seconds": time.perf_counter() - begin, "plan": as_data(plan), "lines": lines}


def _show(out: Console, found: dict[str, Any]) -> None:
    out.print(f"{Path(found['file']).name}, in {duration(found['seconds'])}", markup=False)
    out.print(*(f"  {line}" for line in found["lines"]), sep="\n", markup=False)
