"""Resize and Upsample: each axis is a linear map, which ONNX's reference gives; NNAPI's operations where they are the
same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from nnapi.codes import OperationCode
from nnapi.errors import BadDataError, need
from nnapi.importers.graph import Value
from nnapi.importers.onnx.folding import fold
from nnapi.importers.onnx.layout import image_codes, read_as_stored
from nnapi.importers.onnx.node import HIGHEST_RANK, Node
from nnapi.importers.onnx.rules import rule
from nnapi.importers.onnx.tensors import Tensor, constant
from nnapi.importers.refusals import expressible
from nnapi.model.operand import Array

if TYPE_CHECKING:
    import onnx

FLAGS = ((False, False), (True, False), (False, True))
"""Corners aligned, and centers of pixels halved, as NNAPI has them."""
LARGEST = 4096
"""The largest number of elements along an axis for which the map is expanded."""


@rule("Resize", "Upsample")
def resize(node: Node) -> Tensor:
    tensor = node.tensor(0)
    shape = node.static_shape(0)
    expressible(
        tensor.rank <= HIGHEST_RANK, f"NNAPI resizes images of two dimensions, the input is of rank {tensor.rank}"
    )
    expressible(node.attribute("antialias", 0) == 0 or node.kind == "Resize", "it smooths")
    outside = node.attribute("coordinate_transformation_mode", "") == "tf_crop_and_resize"
    expressible(not (outside and _reaches_outside(node)), "its region reaches beyond the image")
    found = {axis: _map(node, axis) for axis in range(tensor.rank)}
    maps = {axis: each for axis, each in found.items() if each is not None}
    value, places, is_nhwc = read_as_stored(node, 0)
    result = list(shape)
    for axis, each in maps.items():
        result[axis] = len(each)
    placed = {places[axis]: each for axis, each in maps.items()}
    if not is_nhwc and tensor.rank == 4 and set(maps) <= {2, 3}:
        value, placed, is_nhwc = image_codes(node, 0), {axis - 1: each for axis, each in maps.items()}, True
    value = _apply_maps(node, value, placed, is_nhwc)
    return node.result(value, tuple(result), elem=tensor.elem, is_nhwc=is_nhwc)


def _map(node: Node, axis: int) -> Array | None:
    """The weights with which each result along an axis takes each element, None where they are those of the same."""
    shape = node.shape(0)
    size = shape[axis]
    expressible(size <= LARGEST, f"its axis of {size} is too long")
    inputs = _arguments(node)
    rank = len(shape)
    unit = np.eye(size, dtype=np.float32)
    lying = [1] * rank
    lying[axis] = size
    if rank == 1:
        columns = [_column(node, inputs, unit[i].reshape(lying), axis, rank) for i in range(size)]
        return _unless_same(np.stack(columns, -1))
    other = (axis + 1) % rank
    lying[other] = size
    laid = np.moveaxis(unit.reshape(size, size, *(1,) * (rank - 2)), (0, 1), (axis, other))
    found = _column(node, inputs, np.ascontiguousarray(laid), axis, rank)
    return _unless_same(found.reshape(-1, size) if axis < other else found.reshape(size, -1).T)


def _reaches_outside(node: Node) -> bool:
    roi = _arguments(node).get("roi")
    return roi is not None and bool((roi < 0).any() or (roi > 1).any())


def _unless_same(map: Array) -> Array | None:
    return None if map.shape[0] == map.shape[1] and np.array_equal(map, np.eye(len(map))) else map


def _column(node: Node, inputs: Mapping[str, Array], x: Array, axis: int, rank: int) -> Array:
    """An array resized along one axis alone, as the node resizes it."""
    proto = type(node.proto)()
    proto.CopyFrom(node.proto)
    arrays = [x, *(_for_one_axis(inputs.get(each), each, axis, rank, x.shape) for each in ("roi", "scales", "sizes"))]
    names = [f"in{i}" if array is not None else "" for i, array in enumerate(arrays)]
    _update_to_newest(proto, names)
    tensors = [None if array is None else constant("x", array) for array in arrays]
    return np.asarray(fold(proto, max(node.conversion.opsets.get("", 19), 19), tensors)[0])


def _update_to_newest(proto: onnx.NodeProto, names: Sequence[str]) -> None:
    """The node as the newest opset says it: all axes given, old names changed."""
    old = proto.op_type == "Upsample"
    kept = [each for each in proto.attribute if each.name not in ("axes", "scales", "keep_aspect_ratio_policy")]
    del proto.attribute[:]
    proto.attribute.extend(kept)
    if old:
        proto.op_type = "Resize"
        from onnx import helper

        proto.attribute.append(helper.make_attribute("coordinate_transformation_mode", "asymmetric"))
        if any(each.name == "mode" and each.s == b"nearest" for each in kept):
            proto.attribute.append(helper.make_attribute("nearest_mode", "floor"))
    del proto.input[:]
    proto.input.extend(names)


def _for_one_axis(array: Array | None, kind: str, axis: int, rank: int, own: tuple[int, ...]) -> Array | None:
    """An argument for one axis: the others keep their size."""
    if array is None:
        return None
    if kind == "roi":
        whole = np.concatenate([np.zeros(rank), np.ones(rank)]).astype(np.float32)
        whole[[axis, rank + axis]] = array[[axis, rank + axis]]
        return whole
    kept = np.array(own, np.int64) if kind == "sizes" else np.ones(rank, np.float32)
    kept[axis] = array[axis]
    return kept


def _arguments(node: Node) -> dict[str, Array]:
    """roi, scales and sizes for all axes, as far as they are given."""
    rank = node.tensor(0).rank
    axes = [node.axis(axis, rank) for axis in node.attribute("axes") or range(rank)]
    found: dict[str, Array] = {}
    if node.kind == "Upsample":
        given = node.array(1) if node.since >= 9 else np.array(node.attribute("scales"), np.float32)
        return {"scales": given.astype(np.float32)}
    first = 1 if node.since >= 11 else 0
    for i, name in enumerate(("roi", "scales", "sizes")):
        place = i + first
        if place == 0 or not node.has(place) or not node.array(place).size:
            continue
        array = node.array(place)
        if name == "roi":
            whole = np.concatenate([np.zeros(rank), np.ones(rank)]).astype(np.float32)
            whole[axes] = array[: len(axes)]
            whole[[axis + rank for axis in axes]] = array[len(axes) :]
        else:
            need(len(array) == len(axes), f"{len(array)} {name} for {len(axes)} axes", BadDataError)
            whole = np.array(node.shape(0), np.int64) if name == "sizes" else np.ones(rank, np.float32)
            whole[axes] = array
        found[name] = whole
    if "sizes" in found:
        found["sizes"] = _keep_ratio(node, found["sizes"], axes)
    return found


def _keep_ratio(node: Node, sizes: Array, axes: list[int]) -> Array:
    policy = node.attribute("keep_aspect_ratio_policy", "stretch")
    if policy == "stretch":
        return sizes
    shape = node.shape(0)
    ratios = [sizes[axis] / shape[axis] for axis in axes]
    ratio = min(ratios) if policy == "not_larger" else max(ratios)
    for axis in axes:
        sizes[axis] = int(ratio * shape[axis] + 0.5)
    return sizes


def _apply_maps(node: Node, value: Value, maps: Mapping[int, Array], is_nhwc: bool) -> Value:
    if is_nhwc and set(maps) <= {1, 2} and maps:
        direct = _direct(node, value, maps)
        if direct is not None:
            return direct
    for axis, each in maps.items():
        value = _apply_map(node, value, axis, each)
    return value


def _direct(node: Node, value: Value, maps: Mapping[int, Array]) -> Value | None:
    """By NNAPI's operation, where that has the same weights."""
    size = [len(maps[axis]) if axis in maps else value.shape[axis] for axis in (1, 2)]
    for code, theirs in ((OperationCode.RESIZE_NEAREST_NEIGHBOR, _nearest), (OperationCode.RESIZE_BILINEAR, _bilinear)):
        for align, half in FLAGS:
            fits = all(
                np.allclose(each, theirs(value.shape[axis], len(each), align, half), 0, 1e-6)
                for axis, each in maps.items()
            )
            if fits:
                flags = [node.flag(each) for each in (False, align, half)] if align or half else []
                return node.apply(code, value, node.i32(size[1]), node.i32(size[0]), *(flags or [node.flag(False)]))
    return None


def _nearest(have: int, want: int, align: bool, half: bool) -> Array:
    x = np.arange(want, dtype=np.float32)
    if align:
        places = np.floor(x * np.float32((have - 1) / max(want - 1, 1)) + 0.5)
    else:
        places = np.floor((x + (0.5 if half else 0)) * np.float32(have / want))
    unit: Array = np.eye(have, dtype=np.float32)
    picked: Array = unit[np.clip(places, 0, have - 1).astype(int)]
    return picked


def _bilinear(have: int, want: int, align: bool, half: bool) -> Array:
    x = np.arange(want, dtype=np.float32)
    if align and want > 1:
        places = x * np.float32((have - 1) / (want - 1))
    elif half:
        places = (x + 0.5) * np.float32(have / want) - 0.5
    else:
        places = x * np.float32(have / want)
    places = np.maximum(places, 0)
    low = np.minimum(np.floor(places), have - 1).astype(int)
    high = np.minimum(low + 1, have - 1)
    part = (places - low)[:, None]
    unit: Array = np.eye(have, dtype=np.float32)
    mixed: Array = unit[low] * (1 - part) + unit[high] * part
    return mixed


def _apply_map(node: Node, value: Value, axis: int, map: Array) -> Value:
    """A linear map along an axis: a gather where each result is one element, else a product."""
    if ((map == 0) | (map == 1)).all() and (map.sum(1) == 1).all():
        return node.apply(OperationCode.GATHER, value, node.i32(axis), node.graph.ints(map.argmax(1)))
    value = node.graph.real(value)
    shape = node.static_shape_of(value)
    outer, inner = int(np.prod(shape[:axis])), int(np.prod(shape[axis + 1 :]))
    laid = node.view(value, (outer, shape[axis], inner))
    matrix = node.constant(np.broadcast_to(map, (outer, *map.shape)), value)
    product = node.apply(OperationCode.BATCH_MATMUL, matrix, laid, node.flag(False), node.flag(False))
    return node.view(product, (*shape[:axis], len(map), *shape[axis + 1 :]))
