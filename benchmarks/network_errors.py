"""Measure the differences of whole networks with fewer multiplications, forced in all possible layers.

    python -m benchmarks.network_errors [MODEL …]

The networks are those of ``benchmarks/float_networks.py``, with random weights, and those of the files that have such
layers; unspecified dimensions are 1. A difference is the largest one from direct convolutions in the same engine,
relative to the largest value of an output, on two random inputs.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import nnapi
from benchmarks.convolutions import ENGINES
from benchmarks.float_networks import NETWORKS
from nnapi.cli.inputs import input_operands, random_input
from nnapi.contract.driver import PrepareOptions, Request
from nnapi.contract.winograd import FORCED, FORCED_IN_BOTH
from nnapi.lowering.tile_choice import list_layers
from nnapi.runtime.choice.agreement import measure_difference

SEEDS = 2


def load(path: Path) -> nnapi.Model:
    """Load a model with static shapes."""
    model = nnapi.load(path)
    inputs = [model.operands[index] for index in model.inputs]
    return nnapi.load(path, {each.name: [size or 1 for size in each.type.dimensions] for each in inputs})


def run(device: str, model: nnapi.Model, variant: str, inputs: list[Any]) -> list[Any]:
    """Return the outputs for each of the inputs."""
    prepared = nnapi.device(device).driver.prepare(model, PrepareOptions(variant=variant))
    try:
        return [output.copy() for each in inputs for output in prepared.execute(Request(each)).outputs]
    finally:
        prepared.close()


def measure(device: str, model: nnapi.Model) -> list[float]:
    """Return the largest difference with small errors, and with F(4,3) in both dimensions."""
    inputs = [[random_input(operand, seed).array for operand in input_operands(model)] for seed in range(SEEDS)]
    direct, *others = (run(device, model, variant, inputs) for variant in ("", FORCED, FORCED_IN_BOTH))
    return [max(map(measure_difference, direct, each)) for each in others]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=Path, nargs="*")
    sources: dict[str, Callable[[], nnapi.Model]] = dict(NETWORKS)
    sources |= {path.stem: partial(load, path) for path in parser.parse_args().models}
    columns = [f"{device}{both}" for device in ENGINES for both in ("", ", F(4,3) in both")]
    print(f"| network | layers | {' | '.join(columns)} |\n{'|---' * (2 + len(columns))}|")
    largest = [0.0] * len(columns)
    for name, make in sources.items():
        model = make()
        if not (count := len([*list_layers(model)])):
            continue
        found: list[float | None] = []
        for device in ENGINES:
            is_taken = all(nnapi.device(device).supports(model))
            found += measure(device, model) if is_taken else [None, None]
        largest = [max(each, other or 0) for each, other in zip(largest, found, strict=True)]
        cells = [name, str(count), *("–" if each is None else f"{each:.1e}" for each in found)]
        print(f"| {' | '.join(cells)} |", flush=True)
    print(f"| largest | | {' | '.join(f'{each:.1e}' for each in largest)} |")


if __name__ == "__main__":
    main()
