"""Resize, Upsample and GridSample.

Resizing is a linear map along each axis, computed by ONNX's reference evaluator; NNAPI's operations are used where
they give the same result. GridSample gathers pixels, rows of the flattened image, and interpolates.
"""

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import add
from typing import NamedTuple

import numpy as np

from nnapi.codes import OperationCode
from nnapi.importers.formulas import Term, floor, nearest_integer
from nnapi.importers.graph import FLOAT32, FLOATS, INT32, Value
from nnapi.importers.onnx.folding import fold
from nnapi.importers.onnx.layout import image, read_as_stored, stored_image, view_around
from nnapi.importers.onnx.node import HIGHEST_RANK, Node
from nnapi.importers.onnx.operators import rule
from nnapi.importers.onnx.rules.movement import pad_with, split_by_sizes
from nnapi.importers.onnx.tensors import Tensor, constant
from nnapi.importers.refusals import expressible
from nnapi.model.operand import Array
from nnapi.ops.resize import resize_bilinear, resize_nearest_neighbor

FLAGS = ((False, False), (True, False), (False, True))
"""The combinations of NNAPI's flags (align corners, half pixel centers)."""
KERNELS = {
    OperationCode.RESIZE_NEAREST_NEIGHBOR: resize_nearest_neighbor,
    OperationCode.RESIZE_BILINEAR: resize_bilinear,
}
LARGEST = 4096
"""The largest size of an axis whose map is computed."""
FOR_ALL_AXES = ("axes", "scales", "keep_aspect_ratio_policy")
"""Attributes that concern several axes at once."""


class Arguments(NamedTuple):
    axes: list[int]
    roi: Array | None = None
    scales: Array | None = None
    sizes: Array | None = None


@rule("Resize", "Upsample")
def resize(node: Node) -> Tensor:
    tensor = node.tensor(0)
    shape = node.static_shape(0)
    expressible(
        tensor.rank <= HIGHEST_RANK, f"NNAPI resizes images of two dimensions, the input is of rank {tensor.rank}"
    )
    arguments = _read_arguments(node)
    roi = arguments.roi
    if roi is not None and node.attribute("coordinate_transformation_mode", "") == "tf_crop_and_resize":
        expressible(((roi >= 0) & (roi <= 1)).all(), "its region reaches beyond the image")
    found = {axis: _map(node, arguments, i) for i, axis in enumerate(arguments.axes)}
    maps = {axis: each for axis, each in sorted(found.items()) if not np.array_equal(each, np.eye(shape[axis]))}
    value, axis_of, is_nhwc = read_as_stored(node, 0)
    if not is_nhwc and tensor.rank == 4 and set(maps) <= {2, 3}:
        value, axis_of, is_nhwc = stored_image(node, 0), {2: 1, 3: 2}, True
    value = _apply_maps(node, value, {axis_of[axis]: each for axis, each in maps.items()}, is_nhwc)
    result = tuple(len(maps[axis]) if axis in maps else size for axis, size in enumerate(shape))
    return node.result(value, result, elem=tensor.elem, is_nhwc=is_nhwc)


def _read_arguments(node: Node) -> Arguments:
    shape = node.shape(0)
    axes = [node.axis(axis, len(shape)) for axis in node.attribute("axes") or range(len(shape))]
    if node.kind == "Upsample":
        given = node.array(1) if node.since >= 9 else np.array(node.attribute("scales"))
        return Arguments(axes, scales=given.astype(np.float32))
    found: dict[str, Array] = {}
    names = ("roi", "scales", "sizes") if node.since >= 11 else ("scales",)
    for i, name in enumerate(names, 1):
        if node.has(i) and node.array(i).size:
            count = len(axes) * (2 if name == "roi" else 1)
            expressible(node.array(i).size == count, f"{node.array(i).size} {name} for {len(axes)} axes")
            found[name] = node.array(i)
    policy = node.attribute("keep_aspect_ratio_policy", "stretch")
    if policy != "stretch" and "sizes" in found:
        have = np.array([shape[axis] for axis in axes])
        ratios = found["sizes"] / have
        ratio = ratios.min() if policy == "not_larger" else ratios.max()
        found["sizes"] = (ratio * have + 0.5).astype(np.int64)
    return Arguments(axes, **found)


def _map(node: Node, arguments: Arguments, i: int) -> Array:
    """Return the linear map along axis ``i``, [results, elements], by resizing the unit matrix."""
    from onnx import helper

    size = node.shape(0)[arguments.axes[i]]
    expressible(size <= LARGEST, f"its axis of {size} is too long")
    axes, roi, scales, sizes = arguments
    arrays = {
        "x": np.eye(size, dtype=np.float32),
        "roi": None if roi is None else np.array([0, roi[i], 1, roi[i + len(axes)]], np.float32),
        "scales": None if scales is None else np.array([1, scales[i]], np.float32),
        "sizes": None if sizes is None else np.array([size, sizes[i]], np.int64),
    }
    given = {each.name: helper.get_attribute_value(each) for each in node.proto.attribute}
    attributes = {name: value for name, value in given.items() if name not in FOR_ALL_AXES}
    if node.kind == "Upsample":
        attributes["coordinate_transformation_mode"] = "asymmetric"
        if given.get("mode", b"nearest") == b"nearest":
            attributes["nearest_mode"] = "floor"
    names = [name if array is not None else "" for name, array in arrays.items()]
    proto = helper.make_node("Resize", names, ["resized"], **attributes)
    tensors = [None if array is None else constant(name, array) for name, array in arrays.items()]
    return np.asarray(fold(proto, max(node.conversion.opsets.get("", 19), 19), tensors)[0]).T


def _apply_maps(node: Node, value: Value, maps: Mapping[int, Array], is_nhwc: bool) -> Value:
    if is_nhwc and set(maps) <= {1, 2} and maps:
        direct = _apply_directly(node, value, maps)
        if direct is not None:
            return direct
    for axis, each in maps.items():
        value = _apply_map(node, value, axis, each)
    return value


def _apply_directly(node: Node, value: Value, maps: Mapping[int, Array]) -> Value | None:
    height, width = (len(maps[axis]) if axis in maps else value.shape[axis] for axis in (1, 2))
    for code, kernel in KERNELS.items():
        for align, half in FLAGS:
            columns = {axis: np.eye(each.shape[1], dtype=np.float32)[None, :, None] for axis, each in maps.items()}
            if all(
                np.allclose(each, kernel(columns[axis], (len(each), 1), align, half)[0, :, 0], 0, 1e-6)
                for axis, each in maps.items()
            ):
                flags = (False, align, half) if align or half else (False,)
                return node.apply(code, value, node.i32(width), node.i32(height), *map(node.flag, flags))
    return None


def _apply_map(node: Node, value: Value, axis: int, map: Array) -> Value:
    """Apply a linear map along an axis; use a gather if each result is one element."""
    if ((map == 0) | (map == 1)).all() and (map.sum(1) == 1).all():
        return node.apply(OperationCode.GATHER, value, node.i32(axis), node.graph.ints(map.argmax(1)))
    value = node.graph.real(value)
    shape = node.static_shape_of(value)
    laid = view_around(node, value, shape, axis)
    matrix = node.constant(np.broadcast_to(map, (laid.shape[0], *map.shape)), value)
    product = node.apply(OperationCode.BATCH_MATMUL, matrix, laid, node.flag(False), node.flag(False))
    return node.view(product, (*shape[:axis], len(map), *shape[axis + 1 :]))


OLDER = {"bilinear": "linear", "bicubic": "cubic"}
"""Modes by their names before opset 20."""
CUBIC = -0.75
MOST_PIXELS = 1 << 24
"""Pixels are indexed in float32, which is exact for integers up to this."""


class Tap(NamedTuple):
    """The x offset and row offset of a pixel near each location, with its weights; None if only one pixel is used."""

    x: Term
    y: Term
    weight_x: Term | None = None
    weight_y: Term | None = None


@rule("GridSample")
def grid_sample(node: Node) -> Tensor:
    rank = node.tensor(0).rank
    expressible(rank == 4, f"NNAPI has images of two dimensions, the input is of rank {rank}")
    (count, depth, *sizes), grid = node.static_shape(0), node.static_shape(1)
    expressible(
        len(grid) == 4 and (grid[0], grid[3]) == (count, 2),
        f"its grid has shape {list(grid)}, must be [{count}, height, width, 2]",
    )
    mode, padding = str(node.attribute("mode", "linear")), node.attribute("padding_mode", "zeros")
    edge = int(padding == "zeros")  # padding around the image, read for locations outside
    height, width = (size + 2 * edge for size in sizes)
    expressible(count * height * width <= MOST_PIXELS, "its images have too many pixels")
    images = image(node, 0)
    expressible(mode == "nearest" or images.type.code in FLOATS, "NNAPI mixes no integers")
    images = pad_with(node, images, [(0, 0), (edge, edge), (edge, edge), (0, 0)], 0)
    pixels = node.view(images, (count * height * width, depth))
    is_aligned = bool(node.attribute("align_corners", 0))
    taps: list[Tap] = []
    for location, weight in _find_taps(OLDER.get(mode, mode), _count_pixels(node, sizes, is_aligned)):
        if padding == "reflection":
            location = _reflect(location, sizes, is_aligned)
        location = location + 1 if edge else location
        location = location.apply(OperationCode.MAXIMUM, 0).apply(
            OperationCode.MINIMUM, _pair(node, width - 1, height - 1)
        )
        taps.append(_clamp_tap(location, weight, count, (height, width), pixels.type.code))
    whole = node.view(_mix(node, pixels, taps).value, (count, *grid[1:3], depth))
    return node.result(whole, (count, depth, *grid[1:3]), elem=node.tensor(0).elem, is_nhwc=True)


def _count_pixels(node: Node, sizes: Sequence[int], is_aligned: bool) -> Term:
    rows = node.view(node.input(1), (int(np.prod(node.static_shape(1)[:3])), 2))
    height, width = ((size - is_aligned) / 2 for size in sizes)
    location = (Term(node, node.cast(rows, FLOAT32)) + 1) * _pair(node, width, height)
    return location if is_aligned else location + -0.5


def _find_taps(mode: str, location: Term) -> list[tuple[Term, Term | None]]:
    """Return the pixels around a location, each with its weights along both axes; None if there is only one pixel."""
    if mode == "nearest":
        return [(nearest_integer(location), None)]
    expressible(mode in ("linear", "cubic"), f"its mode is {mode}, must be nearest, linear or cubic")
    low = floor(location)
    part = location - low
    rest = part * -1 + 1
    if mode == "linear":
        return [(low, rest), (low + 1, part)]
    far = [((u * CUBIC + -5 * CUBIC) * u + 8 * CUBIC) * u + -4 * CUBIC for u in (part + 1, rest + 1)]
    near = [(u * (CUBIC + 2) + (-CUBIC - 3)) * u * u + 1 for u in (part, rest)]
    return [(low + number, weight) for number, weight in enumerate((far[0], *near, far[1]), -1)]


def _reflect(location: Term, sizes: Sequence[int], is_aligned: bool) -> Term:
    edge = 0.0 if is_aligned else -0.5
    height, width = (max(size - 1 - 2 * edge, 1) for size in sizes)  # for a single pixel every location is 0
    span, twice = _pair(location.node, width, height), _pair(location.node, 2 * width, 2 * height)
    beyond = abs(location + -edge)
    rest = beyond - floor(beyond / twice) * twice
    return span - abs(rest - span) + edge


def _clamp_tap(location: Term, weight: Term | None, count: int, sizes: tuple[int, int], code: int) -> Tap:
    """Return the tap at a location, as offsets into the flattened images; cast its weights to type ``code``."""
    node, (height, width) = location.node, sizes
    x, y = _columns(location * _pair(node, 1, width))
    if count > 1:
        first = np.repeat(np.arange(count, dtype=np.float32) * (height * width), x.value.shape[0] // count)
        y = y + Term(node, node.constant(first[:, None]))
    return Tap(x, y) if weight is None else Tap(x, y, *_columns(Term(node, node.cast(weight.value, code))))


def _columns(pairs: Term) -> list[Term]:
    return [Term(pairs.node, column) for column in split_by_sizes(pairs.node, pairs.value, 1, (1, 1))]


def _mix(node: Node, pixels: Value, taps: Sequence[Tap]) -> Term:
    def pick(across: Tap, down: Tap) -> Term:
        location = (across.x + down.y).value
        number = node.cast(node.view(location, (location.shape[0],)), INT32)
        return _weigh(Term(node, node.apply(OperationCode.GATHER, pixels, node.i32(0), number)), across.weight_x)

    return reduce(add, [_weigh(reduce(add, [pick(x, y) for x in taps]), y.weight_y) for y in taps])


def _weigh(rows: Term, weight: Term | None) -> Term:
    return rows if weight is None else rows * weight


def _pair(node: Node, x: float, y: float) -> Term:
    return Term(node, node.constant(np.array([[x, y]], np.float32)))
