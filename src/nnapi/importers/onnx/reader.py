"""ONNX files: the protocol buffer read by the ``onnx`` library, constants as arrays, those of other files mapped."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from nnapi.errors import BadDataError, OpFailedError, need
from nnapi.importers.onnx.terms import BOOL, DTYPES, NAMES, STRING
from nnapi.importers.refusals import Refused
from nnapi.model.memory import Memory
from nnapi.model.operand import Array

if TYPE_CHECKING:
    import onnx

OLDEST = 6
"""The opset of the default domain from which on files are read."""
NEWEST = 1000
"""What a file counts as that names no opset of the default domain: the newest that the library knows."""
DEFAULT = ("", "ai.onnx")
"""Names of the default domain."""
EXTERNAL = 1
"""TensorProto.EXTERNAL: the values lie in a file of their own."""
INT4, UINT4 = NAMES.index("INT4"), NAMES.index("UINT4")
INSTALL = "reading ONNX needs the library onnx: pip install 'nnapi[onnx]'"


class File:
    """An ONNX model and the folder in which its external data may lie (None where it is not read from a file)."""

    def __init__(self, memory: Memory, path: str) -> None:
        self.size = memory.size
        self.folder = os.path.dirname(os.path.abspath(path)) if os.path.isfile(path) else None
        self.proto = _parsed(memory)
        self.mapped: dict[str, Memory] = {}
        need(len(self.proto.graph.output), "the model has no outputs", BadDataError)
        self.opsets = {"" if each.domain in DEFAULT else each.domain: each.version for each in self.proto.opset_import}
        opset = self.opsets.setdefault("", NEWEST)
        need(opset >= OLDEST, f"it is of opset {opset}; files are read from opset {OLDEST} on", BadDataError)

    def array(self, tensor: onnx.TensorProto) -> tuple[Array, bool]:
        """A constant's value, and whether that is a view of a mapped file."""
        name = tensor.name or "a constant"
        shape = tuple(tensor.dims)
        need(all(each >= 0 for each in shape), f"{name} has the dimensions {list(shape)}", BadDataError)
        if tensor.data_location == EXTERNAL:
            return self._external(tensor, name, shape)
        if tensor.HasField("raw_data") and tensor.data_type in DTYPES:
            return _shaped(np.frombuffer(tensor.raw_data, np.uint8), tensor, name, shape), False
        return _listed(tensor, name), False

    def _external(self, tensor: onnx.TensorProto, name: str, shape: tuple[int, ...]) -> tuple[Array, bool]:
        entries = {entry.key: entry.value for entry in tensor.external_data}
        location = entries.get("location", "")
        path = _inside(self.folder, location, name)
        memory = self.mapped.get(path)
        if memory is None:
            memory = self.mapped[path] = Memory.from_file(path)
        offset = _count(entries, "offset", 0, name)
        length = _count(entries, "length", max(memory.size - offset, 0), name)
        need(
            offset + length <= memory.size,
            f"{name} takes bytes {offset} to {offset + length} of {location}, which has {memory.size}",
            BadDataError,
        )
        content = memory.view(offset, length) if length else np.zeros(0, np.uint8)
        return _shaped(content, tensor, name, shape), True


def _parsed(memory: Memory) -> onnx.ModelProto:
    """The message in a file; BadDataError where it is none."""
    try:
        import onnx
        from google.protobuf.message import DecodeError
    except ImportError:
        raise OpFailedError(INSTALL) from None
    proto = onnx.ModelProto()
    try:
        proto.ParseFromString(memory.view().data.toreadonly())
    except DecodeError:
        raise BadDataError("it is no ONNX model, or damaged: its protocol buffer cannot be parsed") from None
    need(proto.HasField("graph"), "it is no ONNX model: it has no graph", BadDataError)
    return proto


def _inside(folder: str | None, location: str, name: str) -> str:
    """The path of external data, which must lie in the folder of the model or below."""
    need(folder is not None, f"{name} lies in the file {location!r}: load the model by its path", BadDataError)
    assert folder is not None
    top = os.path.realpath(folder)
    path = top if "\0" in location else os.path.realpath(os.path.join(folder, location))
    inside = path != top and os.path.commonpath([path, top]) == top
    need(inside, f"{name} lies in {location!r}, which is outside the model's folder", BadDataError)
    need(os.path.isfile(path), f"{name} lies in {location!r}, which is not there", BadDataError)
    return path


def _count(entries: dict[str, str], key: str, default: int, name: str) -> int:
    text = entries.get(key)
    if text is None:
        return default
    need(text.isdecimal() and len(text) < 20, f"{name} has the {key} {text!r} in its external data", BadDataError)
    return int(text)


def _shaped(content: Array, tensor: onnx.TensorProto, name: str, shape: tuple[int, ...]) -> Array:
    """Bytes as the array that a tensor's type and dimensions make of them."""
    dtype = DTYPES.get(tensor.data_type)
    if dtype is None:
        raise Refused(f"{name} is of type {_type_name(tensor.data_type)}, which NNAPI does not have")
    length = math.prod(shape) * dtype.itemsize
    need(
        content.nbytes == length, f"{name} holds {content.nbytes} bytes, its type and shape take {length}", BadDataError
    )
    array: Array = np.ndarray(shape, dtype, content.data, 0) if length else np.zeros(shape, dtype)
    return array != 0 if tensor.data_type == BOOL and length else array


def _listed(tensor: onnx.TensorProto, name: str) -> Array:
    """Values that the message lists one by one, or of a type that only the library unpacks."""
    from onnx import numpy_helper

    if tensor.data_type not in (*DTYPES, INT4, UINT4, STRING):
        raise Refused(f"{name} is of type {_type_name(tensor.data_type)}, which NNAPI does not have")
    need(math.prod(tensor.dims) <= 2 * tensor.ByteSize() + 8, f"{name} lists too few values", BadDataError)
    try:
        array: Any = numpy_helper.to_array(tensor)
    except (ValueError, TypeError) as error:
        raise BadDataError(f"{name} is damaged: {error}") from None
    if tensor.data_type in (INT4, UINT4):
        array = array.astype(np.int8 if tensor.data_type == INT4 else np.uint8)
    return np.asarray(array)


def _type_name(elem: int) -> str:
    return NAMES[elem] if 0 <= elem < len(NAMES) else f"number {elem}"
