"""Resize, Upsample and GridSample.

Resizing is a linear map along each axis, computed by ONNX's reference evaluator; NNAPI's operations are used where
they give the same result.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from nnapi.codes import OperationCode
from nnapi.formats.onnx.messages import attribute_value, make_node
from nnapi.importers.graph import FLOATS, Value
from nnapi.importers.onnx.computed_resize import resize_at_run
from nnapi.importers.onnx.folding import fold
from nnapi.importers.onnx.images import VOLUME
from nnapi.importers.onnx.layout import image, read_as_stored, stored_image, view_around
from nnapi.importers.onnx.node import WIDEST_RANK, OnnxNode
from nnapi.importers.onnx.operators import rule
from nnapi.importers.onnx.resize_map import OUTWARD, find_map, read_sampling
from nnapi.importers.onnx.tensors import OnnxTensor, constant
from nnapi.importers.refusals import expressible, need_elements
from nnapi.model.operand import Array
from nnapi.operation_codes import CompositeCode
from nnapi.ops.grid_sample import Mode, Padding
from nnapi.ops.resize import resize_bilinear, resize_nearest_neighbor
from nnapi.shapes.size import is_same

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
def resize(node: OnnxNode) -> OnnxTensor:
    tensor = node.tensor(0)
    if _needs_run(node):
        has_sizes = node.has(3) and node.shape(3) != (0,)
        given = 3 if has_sizes else 2 if node.kind == "Resize" and node.since >= 11 else 1
        return resize_at_run(node, _read_axes(node), given, by_scale=not has_sizes)
    shape = node.static_shape(0)
    expressible(
        tensor.rank <= WIDEST_RANK, f"it resizes a tensor of rank {tensor.rank}, operations at most {WIDEST_RANK}"
    )
    arguments = _read_arguments(node)
    roi = arguments.roi
    if roi is not None and read_sampling(node).coordinate_transformation_mode == "tf_crop_and_resize":
        expressible(((roi >= 0) & (roi <= 1)).all(), "its region reaches beyond the image")
    resized = [(i, axis) for i, axis in enumerate(arguments.axes) if not _keeps(arguments, i, shape[axis])]
    found = {axis: _map(node, arguments, i) for i, axis in resized}
    maps = {axis: each for axis, each in sorted(found.items()) if not np.array_equal(each, np.eye(shape[axis]))}
    value, axis_of, is_nhwc = read_as_stored(node, 0)
    if not is_nhwc and tensor.rank in (4, VOLUME) and set(maps) <= {*range(2, tensor.rank)}:
        value, axis_of, is_nhwc = stored_image(node, 0, volumes=True), {axis: axis - 1 for axis in maps}, True
    value = value if is_nhwc else node.view(value, shape)
    value = _apply_maps(node, value, {axis_of[axis]: each for axis, each in maps.items()}, is_nhwc)
    result = tuple(len(maps[axis]) if axis in maps else size for axis, size in enumerate(shape))
    return node.result(value, result, elem=tensor.elem, is_nhwc=is_nhwc)


def _needs_run(node: OnnxNode) -> bool:
    """Return whether only a run knows the sizes of the image or of the result."""
    depends = not node.tensor(0).is_known and node.conversion.state.sizes_depend_on_data
    return depends or any(node.has(i) and node.tensor(i).array is None for i in range(1, node.count))


def _read_axes(node: OnnxNode) -> list[int]:
    rank = node.tensor(0).rank
    return [node.axis(axis, rank) for axis in node.attribute("axes") or range(rank)]


def _read_arguments(node: OnnxNode) -> Arguments:
    shape, axes = node.shape(0), _read_axes(node)
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


def _keeps(arguments: Arguments, i: int, size: int) -> bool:
    """Return whether axis ``i`` keeps its elements, whatever its size is."""
    _, roi, scales, sizes = arguments
    if roi is not None:
        return False
    return bool(scales[i] == 1) if scales is not None else sizes is not None and is_same([sizes[i]], [size])


def _map(node: OnnxNode, arguments: Arguments, i: int) -> Array:
    """Return the linear map along axis ``i``, [results, elements], by resizing the unit matrix."""
    size = node.shape(0)[arguments.axes[i]]
    expressible(size <= LARGEST, f"its axis of {size} is too long")
    axes, roi, scales, sizes = arguments
    given = {each.name: attribute_value(each) for each in node.proto.attribute}
    attributes = {name: value for name, value in given.items() if name not in FOR_ALL_AXES}
    scale, length = None if scales is None else float(scales[i]), None if sizes is None else int(sizes[i])
    sampling = read_sampling(node)
    if sampling.nearest_mode == OUTWARD:
        sampling = sampling._replace(nearest_mode="ceil" if scale is not None and scale < 1 else "floor")
    attributes.update(sampling._asdict())
    found = find_map(size, scale, length, attributes) if roi is None else None
    if found is not None:
        return found
    arrays = {
        "x": np.eye(size, dtype=np.float32),
        "roi": None if roi is None else np.array([0, roi[i], 1, roi[i + len(axes)]], np.float32),
        "scales": None if scales is None else np.array([1, scales[i]], np.float32),
        "sizes": None if sizes is None else np.array([size, sizes[i]], np.int64),
    }
    names = [name if array is not None else "" for name, array in arrays.items()]
    proto = make_node("Resize", names, ["resized"], **attributes)
    tensors = [None if array is None else constant(name, array) for name, array in arrays.items()]
    return np.asarray(fold(proto, max(node.conversion.opsets.get("", 19), 19), tensors)[0]).T


def _apply_maps(node: OnnxNode, value: Value, maps: Mapping[int, Array], is_nhwc: bool) -> Value:
    need_elements(all(map(len, maps.values())))
    if is_nhwc and value.rank == VOLUME:
        value, maps = _resize_images(node, value, maps)
    elif is_nhwc and set(maps) <= {1, 2} and maps:
        direct = _apply_directly(node, value, maps)
        if direct is not None:
            return direct
    for axis, each in maps.items():
        value = _apply_map(node, value, axis, each)
    return value


def _resize_images(node: OnnxNode, value: Value, maps: Mapping[int, Array]) -> tuple[Value, Mapping[int, Array]]:
    """Resize the images of a volume, which is a stack of them, if possible. Return the maps that are left to apply."""
    images = {axis - 1: each for axis, each in maps.items() if axis > 1}
    n, depth, *image = value.shape
    resized = _apply_directly(node, node.view(value, (n * depth, *image)), images) if images else None
    if resized is None:
        return value, maps
    left = {axis: each for axis, each in maps.items() if axis == 1}
    return node.view(resized, (n, depth, *resized.shape[1:])), left


def _apply_directly(node: OnnxNode, value: Value, maps: Mapping[int, Array]) -> Value | None:
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


def _apply_map(node: OnnxNode, value: Value, axis: int, map: Array) -> Value:
    """Apply a linear map along an axis; use a gather if each result is one element."""
    if ((map == 0) | (map == 1)).all() and (map.sum(1) == 1).all():
        return node.apply(OperationCode.GATHER, value, node.i32(axis), node.graph.ints(map.argmax(1)))
    value = node.graph.real(value)
    shape = node.static_shape_of(value)
    laid = view_around(node, value, shape, axis)
    matrix = node.constant(np.broadcast_to(map, (laid.shape[0], *map.shape)), value)
    product = node.apply(OperationCode.BATCH_MATMUL, matrix, laid, node.flag(False), node.flag(False))
    return node.view(product, (*shape[:axis], len(map), *shape[axis + 1 :]))


MODES = {each.name.lower(): each for each in Mode} | {"bilinear": Mode.LINEAR, "bicubic": Mode.CUBIC}
"""Modes of GridSample, also by their names before opset 20."""
PADDINGS = {each.name.lower(): each for each in Padding}


@rule("GridSample")
def grid_sample(node: OnnxNode) -> OnnxTensor:
    (count, depth, *_), grid = node.static_shape(0), node.static_shape(1)
    images, axes = image(node, 0, volumes=True), node.tensor(0).rank - 2
    expressible(
        axes in (2, 3) and len(grid) == axes + 2 and (grid[0], grid[-1]) == (count, axes),
        f"its grid has shape {list(grid)}, must be [{count}, {'depth, ' * (axes == 3)}height, width, {axes}]",
    )
    mode, padding = str(node.attribute("mode", "linear")), str(node.attribute("padding_mode", "zeros"))
    expressible(mode in MODES, f"its mode is {mode}, must be nearest, linear or cubic")
    expressible(padding in PADDINGS, f"its padding mode is {padding}, must be {', '.join(PADDINGS)}")
    expressible(MODES[mode] != Mode.CUBIC or axes == 2, "the cubic mode takes no volumes")
    expressible(MODES[mode] == Mode.NEAREST or images.type.code in FLOATS, "NNAPI mixes no integers")
    attributes = node.i32(MODES[mode]), node.i32(PADDINGS[padding]), node.flag(node.attribute("align_corners", 0))
    sampled = node.apply(CompositeCode.GRID_SAMPLE, images, node.view(node.input(1), grid), *attributes)
    return node.result(sampled, (count, depth, *grid[1:-1]), elem=node.tensor(0).elem, is_nhwc=True)
