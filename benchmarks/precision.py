"""Measure the speed and error of float models in float16 and bfloat16, relative to float32, on each device.

    python -m benchmarks.precision FOLDER... [--images FOLDER] [--runs N] [--most SECONDS]

The program prints for every .tflite file of floats:

- the time in float32 divided by the time in the other precision; minimum of alternating runs on one thread
- the largest difference of an output from float32's, as a share of the output's range
- for classifiers, how often the first class is the same

Inputs are the pictures of ``--images``, or else random values, as many as fit in ``--most`` seconds.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import nnapi
from nnapi.cli.inputs import input_operands, random_input, read_input
from nnapi.codes import OperandCode
from nnapi.contract.driver import PrepareOptions
from nnapi.contract.handles import find_direct
from nnapi.errors import Mistake
from nnapi.model.precision import Precision
from nnapi.vision.families import find_family
from nnapi.vision.file_metadata import describe
from nnapi.vision.pixel_ranges import find_pixels

CASES = (
    ("xnnpack-cpu", Precision.FLOAT16),
    ("openvino-cpu", Precision.FLOAT16),
    ("openvino-cpu", Precision.BFLOAT16),
)
SHORTEST = 1e-5
"""Seconds of a run below which the ratio is omitted, because it is noise."""
PICTURES = (".bmp", ".jpg", ".png")

Arrays = list[np.ndarray[Any, Any]]


class Result(NamedTuple):
    ratio: float
    error: float
    agreement: float | None


def is_of_floats(model: nnapi.Model) -> bool:
    types = [operand.type for operand in model.operands]
    return any(type.code == OperandCode.TENSOR_FLOAT32 for type in types) and not any(
        type.scale or type.channel for type in types
    )


def read_samples(model: nnapi.Model, file: Path, images: Path | None) -> list[Arrays]:
    """Return the inputs of several runs: pictures if the model has an input for them, else random values."""
    operands = list(input_operands(model))
    if images is not None and len(operands) == 1 and operands[0].type.rank == 4:
        pixels = find_pixels(model, describe(file).pixels, find_family(model))
        pictures = sorted(path for path in images.iterdir() if path.suffix in PICTURES)
        with suppress(Mistake):  # the input is not a picture
            return [[read_input(path, operands[0], pixels).array] for path in pictures]
    return [[random_input(operand, seed).array for operand in operands] for seed in range(4)]


def prepare(model: nnapi.Model, device: str, precision: Precision, sample: Arrays) -> Any:
    """Return the fast path of a run in exactly this precision, or None if the device does not offer it."""
    driver: Any = nnapi.device(device).driver
    permitted = model.with_precision(precision)
    variant = next((each for each in ("", f"in {precision}") if _is_used(driver, permitted, each, precision)), None)
    if variant is None or not all(verdict.supported for verdict in driver.verdicts(permitted)):
        return None
    prepared = driver.prepare(permitted, PrepareOptions(threads=1, variant=variant))
    return find_direct(prepared, [array.shape for array in sample], False)


def _is_used(driver: Any, model: nnapi.Model, variant: str, precision: Precision) -> bool:
    return bool(driver.offer_precision(model).choose(variant) is precision)


def compare(exact: Any, rounded: Any, samples: Sequence[Arrays], runs: int, most: float) -> Result:
    error, same, count, classes = 0.0, 0, 0, 0
    begin = time.perf_counter()
    for sample in samples:
        if count and time.perf_counter() - begin > most:
            break
        count += 1
        pairs = [(np.array(a), np.array(b)) for a, b in zip(exact(sample), rounded(sample), strict=True)]
        for right, found in pairs:
            span = float(np.ptp(right)) or 1.0
            error = max(error, float(np.nan_to_num(np.abs(found - right), nan=np.inf).max()) / span)
        right, found = pairs[0]
        classes = right.size if right.ndim == 2 and len(right) == 1 and len(pairs) == 1 else 0
        same += int(np.argmax(right) == np.argmax(found))
    times: tuple[list[float], list[float]] = ([], [])
    begin = time.perf_counter()
    while len(times[0]) < 3 or (len(times[0]) < runs and time.perf_counter() - begin < most):
        for run, taken in zip((exact, rounded), times, strict=True):
            start = time.perf_counter()
            run(samples[0])
            taken.append(time.perf_counter() - start)
    ratio = min(times[0]) / min(times[1]) if min(times[0]) > SHORTEST else math.nan
    return Result(ratio, error, same / count if classes > 1 else None)


def measure(file: Path, images: Path | None, runs: int, most: float) -> Iterator[tuple[tuple[str, Precision], Result]]:
    try:
        model = nnapi.load(file)
    except nnapi.NnapiError as error:
        print(f"{file.stem}: {error}")
        return
    if not is_of_floats(model):
        return
    samples = read_samples(model, file, images)
    for device, precision in CASES:
        exact = prepare(model, device, Precision.FLOAT32, samples[0])
        rounded = prepare(model, device, precision, samples[0])
        if exact is not None and rounded is not None:
            yield (device, precision), compare(exact, rounded, samples, runs, most)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--images", type=Path, help="folder of pictures")
    parser.add_argument("--runs", type=int, default=25, help="largest number of timed runs")
    parser.add_argument("--most", type=float, default=2.0, help="seconds of comparing, and again of timing")
    arguments = parser.parse_args()
    ratios: dict[tuple[str, Precision], list[float]] = {case: [] for case in CASES}
    print(f"{'model':36}" + "".join(f"{f'{device} {precision}':>34}" for device, precision in CASES))
    for file in sorted(file for folder in arguments.folders for file in folder.glob("*.tflite")):
        found = dict(measure(file, arguments.images, arguments.runs, arguments.most))
        cells = []
        for case in CASES:
            if result := found.get(case):
                ratios[case] += [] if math.isnan(result.ratio) else [result.ratio]
                top = "" if result.agreement is None else f" {result.agreement:.0%}"
                cells.append(f"{result.ratio:.2f} × {result.error:.4f}{top}")
            else:
                cells.append("–")
        if found:
            print(f"{file.stem:36}" + "".join(f"{cell:>34}" for cell in cells), flush=True)
    means = [f"{np.exp(np.mean(np.log(each))):.2f} of {len(each)}" if each else "–" for each in ratios.values()]
    print(f"{'geometric mean':36}" + "".join(f"{mean:>34}" for mean in means))


if __name__ == "__main__":
    main()
