"""Measure how closely imported models agree with LiteRT's two sets of kernels, on random inputs.

    python benchmarks/agreement.py FOLDER [--device NAME] [--runs N]

For every .tflite file in FOLDER, the table has the largest difference between nnapi's outputs and those of LiteRT's
built-in kernels, and the share of equal outputs. The same two values for LiteRT's reference kernels show how far two
correct results may differ. The difference of integers and quantized values is absolute, that of floats relative to the
largest output.
"""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from rich.console import Console
from rich.table import Table

import nnapi
from nnapi.importers import load

Arrays = list[np.ndarray[Any, Any]]
BUILTIN = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
REFERENCE = OpResolverType.BUILTIN_REF


@dataclass
class Difference:
    """The largest difference and the number of equal elements."""

    largest: float = 0.0
    equal: int = 0
    total: int = 0

    def add(self, ours: Arrays, theirs: Arrays) -> None:
        for a, b in zip(ours, theirs, strict=True):
            distance = np.abs(a.astype(np.float64).reshape(-1) - b.astype(np.float64).reshape(-1))
            scale = max(float(np.abs(b).max(initial=0)), 1e-30) if b.dtype.kind == "f" else 1.0
            self.largest = max(self.largest, float(distance.max(initial=0)) / scale)
            self.equal += int((distance == 0).sum())
            self.total += distance.size

    @property
    def share(self) -> float:
        return self.equal / self.total if self.total else 1.0


def random_input(shape: Iterable[int], dtype: Any, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """Return 8-bit values of the whole range, floats in [-1, 1), or wider integers from 0 to 99, for indices."""
    kind = np.dtype(dtype)
    if kind.kind == "f":
        return rng.uniform(-1, 1, tuple(shape)).astype(kind)
    limits = np.iinfo(kind) if kind.itemsize == 1 else None
    low, high = (limits.min, limits.max + 1) if limits else (0, 100)
    return rng.integers(low, high, tuple(shape)).astype(kind)


def litert(path: Path, resolver: OpResolverType) -> tuple[Interpreter, Callable[[Arrays], Arrays]]:
    """Return an interpreter and a function that runs it."""
    interpreter = Interpreter(str(path), experimental_op_resolver_type=resolver, num_threads=1)
    interpreter.allocate_tensors()

    def run(inputs: Arrays) -> Arrays:
        interpreter.reset_all_variables()
        for detail, value in zip(interpreter.get_input_details(), inputs, strict=True):
            interpreter.set_tensor(detail["index"], value)
        interpreter.invoke()
        return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]

    return interpreter, run


def nnapi_runner(path: Path, device: str | None) -> Callable[[Arrays], Arrays]:
    compilation = nnapi.compile(load(path), device)

    def run(inputs: Arrays) -> Arrays:
        narrowed = [value.astype(np.int32) if value.dtype == np.int64 else value for value in inputs]
        return compilation.run(*narrowed)

    return run


def compare(path: Path, device: str | None, runs: int) -> tuple[Difference, Difference | None, str]:
    """Return how nnapi and LiteRT's reference kernels differ from its built-in kernels, and the types of outputs."""
    interpreter, builtin = litert(path, BUILTIN)
    ours = nnapi_runner(path, device)
    reference = None
    with contextlib.suppress(RuntimeError, ValueError):  # LiteRT has fewer reference kernels
        _, reference = litert(path, REFERENCE)
    rng = np.random.default_rng(8)
    apart, theirs = Difference(), Difference() if reference else None
    kinds = {np.dtype(detail["dtype"]).name for detail in interpreter.get_output_details()}
    for _ in range(runs):
        inputs = [random_input(d["shape"], d["dtype"], rng) for d in interpreter.get_input_details()]
        expected = builtin(inputs)
        apart.add(ours(inputs), expected)
        if reference and theirs is not None:
            theirs.add(reference(inputs), expected)
    return apart, theirs, "/".join(sorted(kinds))


def cells(difference: Difference | None) -> tuple[str, str]:
    if difference is None:
        return "–", "–"
    return f"{difference.largest:.2g}", f"{difference.share:.2%}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder with .tflite files")
    parser.add_argument("--device", help="the NNAPI device; by default the runtime chooses")
    parser.add_argument("--runs", type=int, default=3, help="number of random inputs for each model")
    arguments = parser.parse_args()
    console = Console()
    table = Table(title="Difference from LiteRT's built-in kernels")
    for heading in ("model", "outputs"):
        table.add_column(heading)
    for heading in ("nnapi: largest", "equal", "LiteRT reference kernels: largest", "equal"):
        table.add_column(heading, justify="right")
    paths = sorted(arguments.folder.glob("*.tflite"))
    for path in paths:
        with console.status(path.name):
            try:
                apart, theirs, kinds = compare(path, arguments.device, arguments.runs)
            except (nnapi.NnapiError, RuntimeError, ValueError) as error:
                table.add_row(path.stem, "[red]" + " ".join(str(error).split())[:90])
                continue
        table.add_row(path.stem, kinds, *cells(apart), *cells(theirs))
    console.print(table)
    return 0 if paths else 1


if __name__ == "__main__":
    raise SystemExit(main())
