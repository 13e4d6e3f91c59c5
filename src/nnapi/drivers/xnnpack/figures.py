"""The figures that the rewriting of unsigned filters goes by, measured on the processor at hand.

Each comes from one or two small graphs of the shapes that networks have, run for a moment: which kernels the engine has
for a processor, and what they are good at, shows in nothing else. All together take some hundredths of a second.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nnapi.drivers.xnnpack.passes.signed_weights.cost_model import TILE, Dense, Depthwise, Figures, round_up
from nnapi.drivers.xnnpack.single_operators import convert, convolve, convolve_each, make_tensor, time_graph
from nnapi.formats.tflite.graph import Operator, constant

Run = Callable[[Operator], float]
"""Gives the seconds of an operator alone."""

SHALLOW, DEEP, UNITS = 8, 128, 16
"""Channels that convolutions sum over, and make: in front of a network, and further back."""
IMAGE, SMALL = 48, 16
"""Pixels along the edges of what shallow and deep ones read."""
TILES, AT_ONCE = (16, 32, 64), 1.5
"""Channels that may be made at once: where so many take less than this many times what the fewest take."""
PLACES = 9
"""Of the filters that see more than one."""


def measure_figures(run: Run = time_graph) -> Figures:
    """What the engine takes here, on one thread."""
    image = (1, IMAGE, IMAGE, 2 * UNITS)
    count, numbers = IMAGE * IMAGE, IMAGE * IMAGE * 2 * UNITS
    x = make_tensor("i8", image)
    joined = make_tensor("i8", (*image[:3], 4 * UNITS))
    part = make_tensor("i8", (*image[:3], 1))
    whole = run(Operator("CONCATENATION", [x, make_tensor("i8", image)], [joined], {"axis": 3}))
    more = make_tensor("i8", (*image[:3], 2 * UNITS + 1))
    short = run(Operator("CONCATENATION", [x, part], [more], {"axis": 3}))
    moved = max(whole - short, 0.0) / (count * (2 * UNITS - 1))
    slice = Operator("SLICE", [x, constant([0, 0, 0, 3]), constant(part.shape)], [part])
    return Figures(
        _measure_dense(run, "i8"),
        _measure_dense(run, "f32"),
        _measure_dense(run, "u8"),
        _measure_depthwise(run, "i8"),
        _measure_depthwise(run, "f32"),
        _measure_depthwise(run, "u8"),
        run(slice) / count,
        max(short / count - moved * (2 * UNITS + 1), 0.0) / 2,
        moved,
        (run(convert("DEQUANTIZE", "i8", "f32", image)) + run(convert("QUANTIZE", "f32", "i8", image))) / 2 / numbers,
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


def _measure_dense(run: Run, type: str) -> Dense:
    """From shallow convolutions that make fewer and more channels, one that sums over more, and one that sees more
    places."""
    image, count = (1, IMAGE, IMAGE, SHALLOW), IMAGE * IMAGE
    seconds = {units: run(convolve(type, image, units)) for units in TILES}
    tile = max(units for units in TILES if seconds[units] < AT_ONCE * seconds[TILES[0]])
    shallow = seconds[tile] / (count * tile)
    wide = run(convolve(type, image, tile, 3)) / (count * tile)
    deep = run(convolve(type, (1, SMALL, SMALL, DEEP), DEEP)) / (SMALL * SMALL * DEEP)
    mac = min(max(deep - shallow, deep / 10) / (DEEP - SHALLOW), deep / DEEP)
    place = max((wide - shallow) / (PLACES - 1) - SHALLOW * mac, 0.0)
    return Dense(max(shallow - place - SHALLOW * mac, 0.0), place, mac, tile)


def _measure_depthwise(run: Run, type: str) -> Depthwise:
    """From one tile of channels, and several."""
    few = run(convolve_each(type, (1, IMAGE, IMAGE, TILE))) / (IMAGE * IMAGE)
    many = run(convolve_each(type, (1, SMALL, SMALL, DEEP))) / (SMALL * SMALL)
    tile = max(many - few, many / 10) / (PLACES * (round_up(DEEP, TILE) // TILE - 1))
    tile = min(tile, few / PLACES)
    return Depthwise(few - PLACES * tile, tile)
