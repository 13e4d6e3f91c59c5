"""Random .onnx files of one operator that reads or writes by indices, with inputs. Some indices are out of range."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import helper

from nnapi.testing.random.values import pick

Array = np.ndarray[Any, Any]
KINDS = ("Gather", "GatherElements", "GatherND", "ScatterElements", "ScatterND", "TopK")
OPSET, IR_VERSION = 16, 8
HOSTILE = 0.3
"""Share of files with an index out of range; sorting operators have equal elements instead."""


class Node(NamedTuple):
    """A file, its inputs by name, and whether an index is out of range or elements are equal."""

    content: bytes
    feeds: dict[str, Array]
    is_hostile: bool


def random_node(kind: str, rng: np.random.Generator, hostile: float = HOSTILE) -> Node:
    """Draw a file of one operator; ``hostile`` is the probability of an index out of range, or of equal elements."""
    is_hostile = bool(rng.random() < hostile)
    shape = tuple(int(size) for size in rng.integers(2, 6, pick(rng, (1, 2, 2, 3))))
    data = rng.permutation(int(np.prod(shape))).astype(np.float32).reshape(shape)
    axis = int(rng.integers(len(shape)))
    if kind == "TopK":
        data = np.floor(data / 3) if is_hostile else data
        count = np.array([rng.integers(1, shape[axis] + 1)])
        return _make(kind, {"d": data, "k": count}, ["v", "i"], {"axis": axis}, is_hostile)
    if kind.endswith("ND"):
        depth = int(rng.integers(1, len(shape) + 1))
        positions = rng.permutation(int(np.prod(shape[:depth])))[: int(rng.integers(1, 4))]
        indices = np.stack(np.unravel_index(positions, shape[:depth]), -1)
        sizes = np.broadcast_to(np.array(shape[:depth]), indices.shape)
    else:
        along = tuple(int(rng.integers(1, size + 1)) for size in shape)
        wanted = along if kind.endswith("Elements") else (int(rng.integers(1, 4)),)
        indices = rng.integers(0, shape[axis], wanted)
        if kind == "ScatterElements":  # the order of updates of the same element is undefined
            indices = np.broadcast_to(
                np.arange(along[axis]).reshape([-1 if i == axis else 1 for i in range(len(along))]), along
            )
        sizes = np.full(indices.shape, shape[axis])
    indices = np.where(rng.random(indices.shape) < 0.3, indices - sizes, indices)
    if is_hostile:
        place = tuple(int(rng.integers(size)) for size in indices.shape)
        indices[place] = pick(rng, (sizes[place], sizes[place] + 1, -sizes[place] - 1, 1000))
    feeds: dict[str, Array] = {"d": data, "i": indices.astype(np.int64)}
    if kind == "ScatterElements":
        feeds["u"] = rng.random(indices.shape).astype(np.float32)
    if kind == "ScatterND":
        feeds["u"] = rng.random((len(indices), *shape[indices.shape[-1] :])).astype(np.float32)
    return _make(kind, feeds, ["y"], {} if kind.endswith("ND") else {"axis": axis}, is_hostile)


def _make(kind: str, feeds: dict[str, Array], results: list[str], attributes: dict[str, Any], is_hostile: bool) -> Node:
    types = {name: helper.np_dtype_to_tensor_dtype(array.dtype) for name, array in feeds.items()}
    constants = [onnx.numpy_helper.from_array(array, name) for name, array in feeds.items() if name == "k"]
    given = {name: array for name, array in feeds.items() if name != "k"}
    inputs = [helper.make_tensor_value_info(name, types[name], array.shape) for name, array in given.items()]
    kinds = {"i": onnx.TensorProto.INT64}
    outputs = [helper.make_tensor_value_info(name, kinds.get(name, onnx.TensorProto.FLOAT), None) for name in results]
    node = helper.make_node(kind, list(feeds), results, **attributes)
    graph = helper.make_graph([node], kind, inputs, outputs, constants)
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
    return Node(proto.SerializeToString(), given, is_hostile)
