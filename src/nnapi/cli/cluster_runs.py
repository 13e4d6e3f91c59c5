"""Run a model on the workers of a cluster."""

import time
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, TypeAlias

import numpy as np
import typer

import nnapi
from nnapi.cli.inputs import FinishedRun, read_inputs
from nnapi.cluster.shards import Cluster, connect
from nnapi.vision.pictures import Pixels

On: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--on",
        metavar="CLUSTER",
        help="Run on the workers of a Ray cluster that can read the same files. ray uses the cluster at "
        "RAY_ADDRESS or, by default, this machine's cores; ray://HOST:PORT uses another cluster.",
    ),
]


def _read_and_run(predictor: nnapi.Predictor, pixels: Pixels, seed: int, files: Sequence[Path]) -> FinishedRun:
    """Read the files of one run on a worker and run the model; the values of the inputs are not returned."""
    given = read_inputs(predictor.compilation.model, files, pixels, seed)
    start = time.perf_counter()
    outputs = predictor(*(value.array for value in given))
    seconds = time.perf_counter() - start
    return FinishedRun([replace(value, array=np.empty(0)) for value in given], outputs, seconds)


def connect_if(url: str | None) -> AbstractContextManager[Cluster | None]:
    return nullcontext() if url is None else connect(url)


def run_on(
    cluster: Cluster, predictor: nnapi.Predictor, runs: Sequence[Sequence[Path]], pixels: Pixels, seed: int = 0
) -> Generator[FinishedRun | Exception, None, None]:
    """Yield each finished run, or its error, in order; results are the same on all workers."""
    files = [[file.absolute() for file in run] for run in runs]
    work = partial(_read_and_run, predictor, pixels, seed)
    return cluster.run_all(work, files, predictor.settings.threads or 1)
