"""Measure the errors of single convolutions: direct and with fewer multiplications, on each device.

    python -m benchmarks.convolution_errors [DEVICE …] [--most PIXELS]

The layers are those of ``benchmarks/convolutions.py``, with inputs from a normal distribution. An error is the largest
difference from a sum in float64, relative to the largest result. Behind it is the number of results that differ by more
than AOSP's tolerance (1e-5, plus 1e-5 of the value). The exit code is 1 if an error is larger than documented.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np

from benchmarks.convolutions import ENGINES, LAYERS, TILES, format_tile, make_model, prepare
from nnapi.lowering.tile_choice import BOTH, DIRECT
from nnapi.model.model import Model
from nnapi.ops.shapes import Pair
from nnapi.runtime.device import REFERENCE
from tests.lowering.winograd.winograd_cases import compute, find_decomposition

ACCURATE, LEAST_ACCURATE = 6e-6, 2e-5
"""Largest documented errors: of all tiles, and of F(4,3) in both dimensions."""
AOSP = 1e-5


def convolve(model: Model, x: Any) -> Any:
    """Return the results of the only layer in float64."""
    filter, bias = (model.operands[index].value.astype(np.float64) for index in model.operations[0].inputs[1:3])
    _, height, width, _ = x.shape
    padded = np.pad(x.astype(np.float64), ((0, 0), (1, 1), (1, 1), (0, 0)))
    taps = [padded[:, i : i + height, j : j + width] @ filter[:, i, j].T for i in range(3) for j in range(3)]
    return np.maximum(sum(taps) + bias, 0)


def run(device: str, model: Model, x: Any, tile: Pair) -> Any:
    """Return the results of the only layer with a tile; the reference computes its decomposition."""
    if device != REFERENCE:
        return prepare(device, model, x, tile)()
    return compute(model if tile == DIRECT else find_decomposition(model, tile).model, x)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "devices", nargs="*", default=[REFERENCE, *ENGINES], help="by default the reference and engines"
    )
    parser.add_argument("--most", type=int, metavar="PIXELS", help="crop images to this height and width")
    options = parser.parse_args()
    print(f"| layer | device | {' | '.join(map(format_tile, TILES))} |\n{'|---' * (len(TILES) + 2)}|")
    errors: dict[tuple[str, Pair], list[float]] = {(each, tile): [] for each in options.devices for tile in TILES}
    beyond = dict.fromkeys(errors, 0)
    for sizes in dict.fromkeys((*(min(size, options.most or size) for size in each[:2]), *each[2:]) for each in LAYERS):
        height, width, depth, units = sizes
        model, x = make_model(*sizes)
        right = convolve(model, x)
        for device in options.devices:
            cells = []
            for tile in TILES:
                differences = abs(run(device, model, x, tile) - right)
                misses = int((differences > AOSP + AOSP * right).sum())
                errors[device, tile].append(float(differences.max() / right.max()))
                beyond[device, tile] += misses
                cells.append(f"{errors[device, tile][-1]:.1e}, {misses}")
            print(f"| {height}×{width}, {depth} → {units} | {device} | {' | '.join(cells)} |", flush=True)
    print("\n| device | tile | largest | median | beyond AOSP's tolerance |\n|---|---|---|---|---|")
    for (device, tile), found in errors.items():
        cells = [device, format_tile(tile), f"{max(found):.1e}", f"{np.median(found):.1e}", str(beyond[device, tile])]
        print(f"| {' | '.join(cells)} |")
    worst = {tile: max(max(errors[device, tile]) for device in options.devices) for tile in TILES}
    return int(any(not error <= (LEAST_ACCURATE if tile == BOTH else ACCURATE) for tile, error in worst.items()))


if __name__ == "__main__":
    sys.exit(main())
