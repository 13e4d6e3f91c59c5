"""The figures that the rewriting of unsigned filters goes by, measured on the processor at hand.

Each comes from one or two small graphs of the shapes that networks have, run for a moment: which kernels the engine has
for a processor, and what they are good at, shows in nothing else. All together take some hundredths of a second.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nnapi.drivers.xnnpack.engine.interpreter import Instance, Program
from nnapi.drivers.xnnpack.passes.signed_weights.cost_model import TILE, Dense, Depthwise, Figures, round_up
from nnapi.errors import need_value
from nnapi.formats.tflite.graph import Graph, Operator, Tensor, constant
from nnapi.formats.tflite.options import convolution_options
from nnapi.formats.tflite.schema import SAME
from nnapi.formats.tflite.writer import serialise
from nnapi.model.operand import Shape

SECONDS, RUNS = 4e-4, 4
"""How long a graph is run, at least so often, after a first run that does not count."""
SHALLOW, DEEP, UNITS = 8, 128, 16
"""Channels that convolutions sum over, and make: in front of a network, and further back."""
IMAGE, SMALL = 48, 16
"""Pixels along the edges of what shallow and deep ones read."""
TILES, AT_ONCE = (16, 32, 64), 1.5
"""Channels that may be made at once: where so many take less than this many times what the fewest take."""
PLACES = 9
"""Of the filters that see more than one."""


def measure_figures() -> Figures:
    """What the engine takes here, on one thread."""
    image = (1, IMAGE, IMAGE, 2 * UNITS)
    count, numbers = IMAGE * IMAGE, IMAGE * IMAGE * 2 * UNITS
    x = _tensor("i8", image)
    joined = _tensor("i8", (*image[:3], 4 * UNITS))
    part = _tensor("i8", (*image[:3], 1))
    whole = _run(Operator("CONCATENATION", [x, _tensor("i8", image)], [joined], {"axis": 3}))
    more = _tensor("i8", (*image[:3], 2 * UNITS + 1))
    short = _run(Operator("CONCATENATION", [x, part], [more], {"axis": 3}))
    moved = max(whole - short, 0.0) / (count * (2 * UNITS - 1))
    slice = Operator("SLICE", [x, constant([0, 0, 0, 3]), constant(part.shape)], [part])
    return Figures(
        _measure_dense("i8"),
        _measure_dense("f32"),
        _measure_dense("u8"),
        _measure_depthwise("i8"),
        _measure_depthwise("f32"),
        _measure_depthwise("u8"),
        _run(slice) / count,
        max(short / count - moved * (2 * UNITS + 1), 0.0) / 2,
        moved,
        (_run(_convert("DEQUANTIZE", "i8", "f32", image)) + _run(_convert("QUANTIZE", "f32", "i8", image)))
        / 2
        / numbers,
    )


def as_data(figures: Figures) -> dict[str, Any]:
    """The figures as plain values."""
    return figures._asdict()


def parse_figures(data: Mapping[str, Any]) -> Figures:
    """The opposite of :func:`as_data`; ValueError, KeyError or TypeError for anything else."""
    found: dict[str, Any] = {}
    for name in Figures._fields:
        kind = Depthwise if name.endswith("depthwise") else Dense
        value = data[name]
        found[name] = _parse_seconds(value) if isinstance(value, int | float) else kind(*_parse_each(value))
    return Figures(**found)


def _parse_each(values: Sequence[Any]) -> list[Any]:
    """The figures of one kind: seconds, and behind them the channels of a tile where there are any."""
    *seconds, last = values
    return [*map(_parse_seconds, seconds), last if last in TILES else _parse_seconds(last)]


def _parse_seconds(value: Any) -> float:
    if not (isinstance(value, int | float) and 0 <= value < 1):
        raise ValueError(f"{value!r} is no number of seconds")
    return float(value)


def _measure_dense(type: str) -> Dense:
    """From shallow convolutions that make fewer and more channels, one that sums over more, and one that sees more
    places."""
    image, count = (1, IMAGE, IMAGE, SHALLOW), IMAGE * IMAGE
    seconds = {units: _run(_convolve(type, image, units)) for units in TILES}
    tile = max(units for units in TILES if seconds[units] < AT_ONCE * seconds[TILES[0]])
    shallow = seconds[tile] / (count * tile)
    wide = _run(_convolve(type, image, tile, 3)) / (count * tile)
    deep = _run(_convolve(type, (1, SMALL, SMALL, DEEP), DEEP)) / (SMALL * SMALL * DEEP)
    mac = min(max(deep - shallow, deep / 10) / (DEEP - SHALLOW), deep / DEEP)
    place = max((wide - shallow) / (PLACES - 1) - SHALLOW * mac, 0.0)
    return Dense(max(shallow - place - SHALLOW * mac, 0.0), place, mac, tile)


def _measure_depthwise(type: str) -> Depthwise:
    """From one tile of channels, and several."""
    few = _run(_convolve_each(type, (1, IMAGE, IMAGE, TILE))) / (IMAGE * IMAGE)
    many = _run(_convolve_each(type, (1, SMALL, SMALL, DEEP))) / (SMALL * SMALL)
    tile = max(many - few, many / 10) / (PLACES * (round_up(DEEP, TILE) // TILE - 1))
    tile = min(tile, few / PLACES)
    return Depthwise(few - PLACES * tile, tile)


def _tensor(type: str, shape: Shape) -> Tensor:
    return Tensor(type, shape, 0.0 if type == "f32" else 0.05, 128 if type == "u8" else 0)


def _filter(type: str, shape: Shape, axis: int) -> Tensor:
    numbers = np.arange(np.prod(shape), dtype=np.int64).reshape(shape) * 37 % 101 - 50
    if type == "f32":
        return Tensor("f32", shape, data=(numbers * 0.01).astype(np.float32))
    if type == "u8":
        return Tensor("u8", shape, 0.01, 128, data=(numbers + 128).astype(np.uint8))
    return Tensor("i8", shape, np.full(shape[axis], 0.01, np.float32), 0, axis, numbers.astype(np.int8))


def _bias(type: str, count: int) -> Tensor:
    if type == "f32":
        return Tensor("f32", (count,), data=np.zeros(count, np.float32))
    unit = np.float32(0.05) * np.float32(0.01)
    scale = float(unit) if type == "u8" else np.full(count, unit, np.float32)
    return Tensor("i32", (count,), scale, data=np.zeros(count, np.int32))


OPTIONS = convolution_options(SAME, (1, 1), (1, 1)) | {"activation": 0}


def _convolve(type: str, image: Shape, units: int, edge: int = 1) -> Operator:
    filter = _filter(type, (units, edge, edge, image[3]), 0)
    return Operator(
        "CONV_2D",
        [_tensor(type, image), filter, _bias(type, units)],
        [_tensor(type, (*image[:3], units))],
        dict(OPTIONS),
    )


def _convolve_each(type: str, image: Shape) -> Operator:
    filter = _filter(type, (1, 3, 3, image[3]), 3)
    inputs: Sequence[Tensor] = [_tensor(type, image), filter, _bias(type, image[3])]
    return Operator("DEPTHWISE_CONV_2D", list(inputs), [_tensor(type, image)], OPTIONS | {"multiplier": 1})


def _convert(kind: str, source: str, target: str, shape: Shape) -> Operator:
    return Operator(kind, [_tensor(source, shape)], [_tensor(target, shape)])


def _run(operator: Operator) -> float:
    """Seconds of the shortest run of an operator alone."""
    inputs = [tensor for tensor in operator.inputs if tensor is not None and not tensor.is_constant]
    graph = Graph([operator], inputs, operator.outputs)
    ends = (False,) * len(graph.ends)
    instance = Instance(Program(serialise(graph), ends, (operator.output.shape,)), 1)
    bound = need_value(instance.bind([tensor.shape for tensor in inputs]), "the engine has no memory of its own")
    for memory in bound.inputs:
        memory[...] = 1
    bound.run()
    best, spent, runs = 1.0, 0.0, 0
    while spent < SECONDS or runs < RUNS:
        start = time.perf_counter()
        bound.run()
        seconds = time.perf_counter() - start
        best, spent, runs = min(best, seconds), spent + seconds, runs + 1
    return best
