"""Choice of the convolutions to compute with fewer multiplications, and of their tiles, by predicted time alone."""

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple
from weakref import WeakKeyDictionary

from nnapi.codes import OperandCode, OperationCode
from nnapi.contract.winograd import (
    IN_BOTH,
    PLAIN,
    FloatWidth,
    find_float_width,
    has_byte_products,
    is_forced,
    is_winograd,
    may_use_both,
)
from nnapi.errors import NnapiError
from nnapi.lowering.lower import KnownTypes, normalize_call
from nnapi.lowering.winograd.integers import BYTES, Integers, read_integers
from nnapi.lowering.winograd.transforms import find_transforms, make_transform
from nnapi.model.call import NotYetKnown
from nnapi.model.model import Lifetime, Model, OperationCall
from nnapi.model.operand import Shape
from nnapi.model.precision import Precision
from nnapi.ops.shapes import Padding, Pair

DIRECT = (0, 0)
ACCURATE = (6, 0), (0, 6), (4, 4), (6, 4)
"""Tiles, as multiplications along the height and the width, with an error of a few float32 roundings."""
WHOLE = (4, 0), (0, 4), (4, 4)
"""Tiles whose transforms are exact for integers."""
BOTH = (6, 6)
TAPS = {4: (3,), 6: (3, 5)}
"""Filter sizes for each number of multiplications."""
LEAST_GAIN = 1.05
"""Minimum predicted speed of a layer, relative to direct convolution."""
MOST_BYTES = 1 << 28
"""Maximum bytes of the transformed filters of a model; other layers stay direct."""
MOVE_OPERATORS, MOVE = 8, 3.0
"""Operators that move an image to its phases and back, and seconds for each value, in sums of values."""
SHORT = 8
"""Length of phases up to which engines compute them slowly."""
CACHE = 1 << 20
"""Bytes of an image that a processor core's own cache holds, about."""
VECTOR = 16
"""Output channels that are computed together. Layers with fewer stay direct: engines have kernels for some of these."""


class Costs(NamedTuple):
    """An engine's seconds on one thread: per operator, MAC, convolution result, value of an image transformed along the
    height or the width (per tap), value of a sum of products, and filter value. A convolution computes ``block`` pixels
    together. ``byte_mac`` is the time of a MAC of a direct 8-bit convolution on a processor without instructions for
    products of bytes, 0 if 8-bit layers stay direct; ``conversion`` that of a value from bytes to floats, or back.
    ``far`` is the further time of a value that is read by a transform or a sum of an image larger than CACHE."""

    operator: float
    mac: float
    result: float
    row: float
    column: float
    sum: float
    weight: float
    block: int = 1
    byte_mac: float = 0.0
    conversion: float = 0.0
    far: float = 0.0


ESTIMATES: Mapping[FloatWidth, tuple[float, float]] = {
    FloatWidth.AVX512: (1.0, 1.0),
    FloatWidth.AVX2: (2.0, 1.5),
    FloatWidth.NEON: (4.0, 2.0),
    FloatWidth.OTHER: (4.0, 2.0),
}
"""Factors of MACs and of everything else, relative to AVX-512, where an engine was not measured. They are those of
:mod:`nnapi.contract.timings`."""


def find_costs(measured: Mapping[FloatWidth, Costs]) -> Costs:
    """Return an engine's costs for this processor. Unless they were measured, they are estimated from AVX-512's."""
    width = find_float_width()
    if found := measured.get(width):
        return found
    known, (mac, others) = measured[FloatWidth.AVX512], ESTIMATES[width]
    scaled = {name: cost * (mac if name.endswith("mac") else others) for name, cost in known._asdict().items()}
    return Costs(**{**scaled, "block": known.block})


class Layer(NamedTuple):
    """A dense convolution with stride 1: dimensions of its result, input channels, filter size and dilation, and its
    integers if it is quantized."""

    result: Shape
    depth: int
    size: Pair
    dilation: Pair = (1, 1)
    integers: Integers | None = None

    @property
    def phases(self) -> Shape:
        """The result's phases as a batch: pixels that are ``dilation`` apart."""
        (batches, height, width, units), (down, across) = self.result, self.dilation
        return batches * down * across, -(-height // down), -(-width // across), units

    def list_tiles(self, variant: str) -> list[Pair]:
        """Return the tiles that a variant permits."""
        tiles = WHOLE if self.integers else [*ACCURATE, BOTH] if may_use_both(variant) else ACCURATE
        return [
            tile
            for tile in tiles
            if all(not products or k in TAPS[products] for products, k in zip(tile, self.size, strict=True))
        ]

    def is_exact(self, tile: Pair) -> bool:
        """Return whether a tile keeps integers, if the layer has some."""
        return not self.integers or self.integers.are_exact(find_transforms(tile, self.size))

    def count_weights(self, tile: Pair) -> int:
        """Return the number of values of the transformed filter."""
        along = [products or k for products, k in zip(tile, self.size, strict=True)]
        return along[0] * along[1] * self.depth * self.result[3]


def predict(costs: Costs, layer: Layer, tile: Pair) -> float:
    """Return the seconds of a layer with a tile. Tiles of a dilated layer cover its phases, to which it is moved."""
    if layer.integers:
        return _predict_quantized(costs, layer, tile)
    if tile == DIRECT or layer.dilation == (1, 1):
        return _predict(costs, layer.result, layer.depth, layer.size, tile)
    batches, height, width, units = layer.phases
    moved = batches * height * width * (layer.depth + units)
    moves = MOVE_OPERATORS * costs.operator + MOVE * costs.sum * moved
    return moves + _predict(costs, layer.phases, layer.depth, layer.size, tile)


def _predict_quantized(costs: Costs, layer: Layer, tile: Pair) -> float:
    if tile == DIRECT:
        return predict(costs._replace(mac=costs.byte_mac), layer._replace(integers=None), DIRECT)
    values = math.prod(layer.result[:3]) * (layer.depth + layer.result[3])
    return costs.conversion * values + predict(costs, layer._replace(integers=None), tile)


def _predict(costs: Costs, result: Shape, depth: int, size: Pair, tile: Pair) -> float:
    batches, height, width, units = result
    axis = next((axis for axis in (0, 1) if tile[axis]), None)
    if axis is None:
        pixels = batches * height * width
        blocks, units = -(-pixels // costs.block) * costs.block, -(-units // VECTOR) * VECTOR
        taps = size[0] * size[1] * depth
        each = costs.mac * blocks * units * taps + costs.result * pixels * units + costs.weight * taps * result[3]
        return costs.operator + each
    products = tile[axis]
    transform = make_transform(products, size[axis])
    results = len(transform.output)
    tiles = -(-result[1 + axis] // results)
    area = batches * height * width
    height, width = (tiles, width) if axis == 0 else (height, tiles)
    pixels = batches * height * width
    inner = (1, size[1]), (0, tile[1])
    if axis:
        inner = (size[0], 1), DIRECT
    each = costs.operator + (costs.column if axis else costs.row) * pixels * depth * products
    each += _predict(costs, (batches, height, width, units), depth, *inner)
    joined = 1 + (tiles * results != result[1 + axis])
    sums = transform.count_sums() * (costs.operator + costs.sum * pixels * units)
    read = products * area * depth if is_far(area * depth) else 0
    read += (transform.count_sums() + results) * pixels * units if is_far(area * units) else 0
    return products * each + sums + joined * costs.operator + costs.far * read


def is_far(values: int) -> bool:
    """Return whether an image of float32 values is larger than CACHE, so that each pass reads it from farther away."""
    return 4 * values > CACHE


def choose_tile(costs: Costs, layer: Layer, variant: str) -> tuple[Pair, float]:
    """Return the fastest tile of a variant, and the seconds that it saves: DIRECT, unless it gains LEAST_GAIN or is
    forced, and is exact where it must be."""
    times = {tile: predict(costs, layer, tile) for tile in layer.list_tiles(variant)}
    direct = predict(costs, layer, DIRECT)
    is_long = layer.dilation == (1, 1) or min(layer.phases[1:3]) > SHORT
    is_large = is_long and layer.result[3] >= VECTOR
    for tile in sorted(times, key=times.__getitem__):
        gains = is_large and direct >= LEAST_GAIN * times[tile]
        if (gains or is_forced(variant)) and layer.is_exact(tile):
            return tile, direct - times[tile]
    return DIRECT, 0.0


def find_tiles(costs: Costs, model: Model, variant: str, precision: Precision) -> Mapping[int, Pair]:
    """Return the tiles of a variant by operation number; none if the engine computes in less than float32, as the
    transforms multiply values by up to 100."""
    if not is_winograd(variant) or precision is not Precision.FLOAT32:
        return {}
    return _choose_tiles(costs, _list_permitted(costs, model, variant), variant)[0]


def _choose_tiles(costs: Costs, layers: Mapping[int, Layer], variant: str) -> tuple[dict[int, Pair], float]:
    """Return the tile of each layer that is not direct, by operation number, and the seconds that they save."""
    tiles: dict[int, Pair] = {}
    saved, nbytes = 0.0, 0
    for number, layer in layers.items():
        tile, gain = choose_tile(costs, layer, variant)
        size = 4 * layer.count_weights(tile)
        if tile != DIRECT and nbytes + size <= MOST_BYTES:
            tiles[number] = tile
            saved, nbytes = saved + gain, nbytes + size
    return tiles, saved


def _list_permitted(costs: Costs, model: Model, variant: str) -> Mapping[int, Layer]:
    """Return the layers, with those of 8 bits if the engine has costs of them. A processor that multiplies bytes fast
    computes these directly, unless another way is forced."""
    in_bytes = costs.byte_mac > 0 and (is_forced(variant) or not has_byte_products())
    return dict(list_layers(model, in_bytes=in_bytes))


def list_layers(model: Model, *, in_bytes: bool = False) -> Iterator[tuple[int, Layer]]:
    """Yield the dense float32 convolutions with stride 1, static shapes, phases, and constant filters and biases. Yield
    8-bit ones too if ``in_bytes``."""
    types = KnownTypes(model, {operand.index: operand.type for operand in model.operands})
    values = {operand.index: operand.value for operand in model.operands if operand.lifetime is Lifetime.CONSTANT}
    for call in model.operations:
        if is_candidate(model, call, in_bytes=in_bytes) and model.operands[call.inputs[0]].type.is_known:
            try:
                found = normalize_call(model, call, types, values.get)
            except (NnapiError, NotYetKnown):
                continue
            given, result = found.arguments, found.results[0].dimensions
            filter = given["filter"].dimensions
            is_dense = filter[3] == given["input"].dimensions[3]
            dilation = given["dilation"]
            if is_dense and given["stride"] == (1, 1) and has_phases(given["padding"], dilation) and min(result) > 0:
                is_quantized = given["input"].code in BYTES
                integers = read_integers(found, types, values) if is_quantized else None
                yield call.number, Layer(result, filter[3], filter[1:3], dilation, integers)


def has_phases(padding: Padding, dilation: Pair) -> bool:
    """Return whether a dilated convolution is one convolution of the image's phases. A phase consists of the pixels
    that are ``dilation`` apart; the padding before it must be a whole number of such steps."""
    return all(before % step == 0 for (before, _), step in zip(padding, dilation, strict=True))


def is_candidate(model: Model, call: OperationCall, *, in_bytes: bool) -> bool:
    """Return whether a call may be a layer if its shapes are static: a CONV_2D in float32, or in 8 bits if
    ``in_bytes``, with a constant bias, and a constant filter of a size in TAPS."""
    if call.code != OperationCode.CONV_2D:
        return False
    x, filter, bias = (model.operands[index] for index in call.inputs[:3])
    if not filter.lifetime is bias.lifetime is Lifetime.CONSTANT:
        return False
    are_floats = {each.type.code for each in (x, filter, bias)} == {OperandCode.TENSOR_FLOAT32}
    are_bytes = in_bytes and x.type.code in BYTES and bias.type.code == OperandCode.TENSOR_INT32
    sizes = TAPS[4] if are_bytes else TAPS[6]
    return (are_floats or are_bytes) and {1} < {1, *filter.type.dimensions[1:3]} <= {1, *sizes}


_savings: WeakKeyDictionary[Model, dict[Costs, dict[str, float]]] = WeakKeyDictionary()


def predict_savings(costs: Costs, model: Model, precision: Precision) -> dict[str, float]:
    """Return the seconds that Winograd variants save, by name; none if they save nothing, or if the engine does not
    compute in float32. The second variant is listed if it saves clearly more than the first."""
    if precision is not Precision.FLOAT32:
        return {}
    known = _savings.setdefault(model, {})
    if costs not in known:
        layers = _list_permitted(costs, model, PLAIN)
        differ = any(layer.integers is None for layer in layers.values())
        found = {variant: _choose_tiles(costs, layers, variant) for variant in (PLAIN, *([IN_BOTH] if differ else []))}
        least = {PLAIN: 0.0, IN_BOTH: LEAST_GAIN * found[PLAIN][1]}
        known[costs] = {variant: saved for variant, (_, saved) in found.items() if saved > least[variant]}
    return known[costs]
