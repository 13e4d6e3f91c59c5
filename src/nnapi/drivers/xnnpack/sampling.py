"""Operations run alone, for first predictions: those that the figures of the rewriting come from, and a few more.

What is said of codes is said of the kernels that the driver computes them with: unsigned ones become signed ones, and
either become float32 where that takes less time on this processor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from nnapi.codes import OperandCode
from nnapi.drivers.samples import Sample, Samples
from nnapi.drivers.xnnpack.figures import as_data, measure_figures
from nnapi.drivers.xnnpack.single_operators import (
    convolve,
    convolve_each,
    make_bias,
    make_filter,
    make_tensor,
    start_graph,
    time_graph,
    time_shortest,
)
from nnapi.formats.tflite.graph import Operator, Tensor, constant
from nnapi.formats.tflite.options import pooling_options
from nnapi.formats.tflite.schema import VALID
from nnapi.model.facts import Kind
from nnapi.model.operand import Shape

KINDS = {
    "CONV_2D": Kind.CONVOLUTION,
    "DEPTHWISE_CONV_2D": Kind.DEPTHWISE,
    "FULLY_CONNECTED": Kind.PRODUCT,
    "ADD": Kind.ELEMENTWISE,
    "LOGISTIC": Kind.TRANSCENDENTAL,
    "AVERAGE_POOL_2D": Kind.REDUCTION,
    "RESIZE_BILINEAR": Kind.RESIZE,
    "CONCATENATION": Kind.MOVEMENT,
}
SUMS = (Kind.CONVOLUTION, Kind.DEPTHWISE, Kind.PRODUCT)
CODES = {
    "f32": OperandCode.TENSOR_FLOAT32,
    "i8": OperandCode.TENSOR_QUANT8_ASYMM_SIGNED,
    "u8": OperandCode.TENSOR_QUANT8_ASYMM,
}
WRAPPED = "in float32"
KERNELS = {"f32": ["f32"], "i8": ["i8", WRAPPED], "u8": ["i8", WRAPPED]}
"""What the driver chooses from for each type, operation by operation. Unsigned kernels take as long as signed ones
where no instruction multiplies bytes, and longer elsewhere: where they are chosen, signed ones would do as well."""
LEAST = 1e-8
"""Seconds that an operation takes at least: the clock does not tell less."""
CHAIN = 16
"""Operators in a row from which the price of one is known."""
TINY: Shape = (1, 16)
IMAGE: Shape = (1, 32, 32, 32)
SMALL: Shape = (1, 8, 8, 8)
LARGE: Shape = (1, 96, 96, 16)
"""An image of which, once convolved, the caches next to a core hold a part."""
GATES, SQUASHED = 6, 3
"""Operations element by element of a recurrent step, beside its matrix product, and those of them that squash."""


def measure() -> dict[str, Any]:
    """The figures of the rewriting and the samples, as plain values."""
    timings = Timings()
    figures = measure_figures(timings.run)
    for operator in _list_more():
        timings.run(operator)
    return as_data(figures) | {"samples": make_samples(timings, figures.converted)._asdict()}


def parse_samples(data: Mapping[str, Any]) -> Samples:
    """Those among what :func:`measure` gave; ValueError, KeyError or TypeError where there are none."""
    launch, byte, operations = (data["samples"][name] for name in Samples._fields)
    return Samples(float(launch), float(byte), [Sample(Kind(kind), *numbers) for kind, *numbers in operations])


class Timings:
    """Operators that were run, and the seconds of each with those of a call."""

    def __init__(self, time: Callable[..., float] = time_graph) -> None:
        self._time = time
        self.taken: list[tuple[Operator, float]] = []

    def run(self, operator: Operator) -> float:
        """Seconds of an operator alone."""
        seconds = self._time(operator)
        self.taken.append((operator, seconds))
        return seconds

    def run_smallest(self) -> tuple[float, float]:
        """Seconds of a call, and of the smallest operation: from one such, and several in a row."""
        row = [_add("f32", TINY) for _ in range(CHAIN)]
        for before, after in pairwise(row):
            after.inputs = [before.output, before.output]
        one, several = self._time(row[0]), self._time(*row)
        operation = max((several - one) / (CHAIN - 1), LEAST)
        return max(one - operation, 0.0), operation


def make_samples(timings: Timings, converted: float) -> Samples:
    """What was measured, by the codes of the model that it stands for; ``converted`` are the seconds for converting a
    number between codes and float32."""
    call, operation = timings.run_smallest()
    kernels: dict[tuple[Kind, str], list[Sample]] = {}
    for operator, seconds in timings.taken:
        if operator.kind in KINDS:
            sample, type = describe(operator, max(seconds - call, LEAST)), operator.input(0).type
            kernels.setdefault((sample.kind, type), []).append(sample)
            if type == "f32":
                numbers = operator.input(0).size + operator.output.size
                wrapped = sample._replace(nbytes=sample.nbytes // 4, seconds=sample.seconds + converted * numbers)
                kernels.setdefault((sample.kind, WRAPPED), []).append(wrapped)
    found = [
        sample._replace(code=code, kernel=kernel)
        for kind in KINDS.values()
        for type, code in CODES.items()
        for kernel, samples in _list_kernels(kernels, kind, type)
        for sample in samples
    ]
    others = {sample[:2] for sample in found if not sample.macs}
    found += [Sample(kind, code, 0, 1, 0, 0, operation) for kind, code in sorted(others)]
    launch, byte = _measure_call()
    squashes = [each for each in found if each[:2] == (Kind.TRANSCENDENTAL, CODES["f32"]) and each.nbytes > 1]
    squashed = min(each.seconds for each in squashes)
    return Samples(launch, byte, [*found, *_list_recurrent(found, GATES * operation + SQUASHED * squashed)])


def _list_kernels(
    kernels: Mapping[tuple[Kind, str], list[Sample]], kind: Kind, type: str
) -> Iterator[tuple[str, list[Sample]]]:
    """What the driver may compute a kind with: of sums it chooses, of the rest it has one way."""
    names = [kernel for kernel in KERNELS[type] if (kind, kernel) in kernels]
    for kernel in names if kind in SUMS else names[:1]:
        yield kernel, kernels[kind, kernel]


def describe(operator: Operator, seconds: float) -> Sample:
    """An operator as the operation that it computes."""
    kind, x, out = KINDS[operator.kind], operator.input(0), operator.output
    nbytes = sum(tensor.size * (4 if tensor.type in ("f32", "i32") else 1) for tensor in operator.tensors)
    code = CODES[x.type]
    if kind not in SUMS:
        return Sample(kind, code, 0, nbytes, 0, 0, seconds)
    filter = operator.input(1)
    each = math.prod(filter.shape[1:-1]) * (1 if kind is Kind.DEPTHWISE else filter.shape[-1])
    pixels = out.size // out.shape[-1]
    return Sample(kind, code, out.size * each, nbytes, pixels, pixels * math.prod(filter.shape[1:-1]), seconds)


def _list_recurrent(samples: Sequence[Sample], beside: float) -> list[Sample]:
    """Steps of recurrent cells, from matrix products and what there is beside them: the driver writes them out in
    float32, for codes too."""
    products = [s for s in samples if s.kind is Kind.PRODUCT and s.code == OperandCode.TENSOR_FLOAT32 and s.pixels == 1]
    return [
        s._replace(kind=Kind.RECURRENT, code=code, pixels=0, places=0, seconds=s.seconds + beside)
        for s in products
        for code in CODES.values()
    ]


def _measure_call() -> tuple[float, float]:
    """Seconds of a call with its way through Python, and those to copy a byte."""
    instance, tensors = start_graph(_add("f32", TINY))
    inputs = [np.zeros(tensor.shape, np.float32) for tensor in tensors]

    def call() -> None:
        instance.run(inputs)
        instance.results()

    source, target = (np.ones(IMAGE, np.float32) for _ in range(2))
    return time_shortest(call), time_shortest(lambda: np.copyto(target, source)) / source.nbytes


def _list_more() -> list[Operator]:
    """What the figures do without."""
    found = [convolve("i8", (1, 8, 8, 128), 128, 3), _apply("LOGISTIC", "f32", TINY), _concatenate("f32"), _pool("f32")]
    for type in ("f32", "i8"):
        found += [convolve(type, SMALL, 8), convolve(type, LARGE, 64), convolve_each(type, SMALL)]
        found += [
            convolve_each(type, (*LARGE[:3], 64)),
            _add(type, IMAGE),
            _apply("LOGISTIC", type, IMAGE),
            _resize(type),
        ]
        found += [_multiply(type, *shape) for shape in ((1, 16, 16), (1, 512, 512), (49, 128, 128))]
    return found


def _add(type: str, shape: Shape) -> Operator:
    inputs: list[Tensor | None] = [make_tensor(type, shape), make_tensor(type, shape)]
    return Operator("ADD", inputs, [make_tensor(type, shape)], {"activation": 0})


def _multiply(type: str, rows: int, depth: int, units: int) -> Operator:
    inputs = [make_tensor(type, (rows, depth)), make_filter(type, (units, depth), 0), make_bias(type, units)]
    return Operator("FULLY_CONNECTED", [*inputs], [make_tensor(type, (rows, units))], {"activation": 0})


def _apply(kind: str, type: str, shape: Shape) -> Operator:
    out = make_tensor(type, shape) if type == "f32" else Tensor(type, shape, 1 / 256, -128)
    return Operator(kind, [make_tensor(type, shape)], [out])


def _resize(type: str) -> Operator:
    size = 2 * IMAGE[1], 2 * IMAGE[2]
    x, out = make_tensor(type, IMAGE), make_tensor(type, (1, *size, IMAGE[3]))
    return Operator(
        "RESIZE_BILINEAR", [x, constant(size)], [out], {"align_corners": False, "half_pixel_centers": False}
    )


def _concatenate(type: str) -> Operator:
    inputs: list[Tensor | None] = [make_tensor(type, IMAGE), make_tensor(type, IMAGE)]
    return Operator("CONCATENATION", inputs, [make_tensor(type, (*IMAGE[:3], 2 * IMAGE[3]))], {"axis": 3})


def _pool(type: str) -> Operator:
    shape = (1, IMAGE[1] // 2, IMAGE[2] // 2, IMAGE[3])
    options = pooling_options(VALID, (2, 2), (2, 2)) | {"activation": 0}
    return Operator("AVERAGE_POOL_2D", [make_tensor(type, IMAGE)], [make_tensor(type, shape)], options)
