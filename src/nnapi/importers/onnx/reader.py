"""Read ONNX files with the library ``onnx``; constants become arrays, and external data is mapped."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from nnapi.errors import BadDataError, OpFailedError, need
from nnapi.importers.onnx.tensors import BOOL, DTYPES, NAMES, STRING, elem_name
from nnapi.importers.refusals import Refused
from nnapi.model.memory import Memory
from nnapi.model.operand import Array

if TYPE_CHECKING:
    import onnx

OLDEST = 6
"""The oldest opset that is read."""
NEWEST = 1000
"""The opset of a file that names none, larger than any: the newest that the library ``onnx`` knows."""
DEFAULT = ("", "ai.onnx")
SHARED = 1 << 12
"""Arrays of at least this many bytes are shared among imports."""
EXTERNAL = 1
"""TensorProto.EXTERNAL: the values lie in another file."""
INT4, UINT4 = NAMES.index("INT4"), NAMES.index("UINT4")
INSTALL = "reading ONNX needs the library onnx: pip install 'nnapi[onnx]'"


class File:
    """An ONNX model. ``folder`` is where its external data lies; None if the model is not read from a file."""

    def __init__(self, memory: Memory, path: str) -> None:
        self.size = memory.size
        self.folder = os.path.dirname(os.path.abspath(path)) if os.path.isfile(path) else None
        self.proto = _parse(memory)
        self.mapped: dict[str, Memory] = {}
        self.is_shared = False
        """Whether the file is imported for several shapes; these imports share large constants."""
        self._arrays: dict[int, tuple[onnx.TensorProto, Array]] = {}
        self._ordered: dict[tuple[Any, ...], Array] = {}
        need(len(self.proto.graph.output), "the model has no outputs", BadDataError)
        self.opsets = {"" if each.domain in DEFAULT else each.domain: each.version for each in self.proto.opset_import}
        opset = self.opsets.setdefault("", NEWEST)
        need(opset >= OLDEST, f"it is of opset {opset}; files are read from opset {OLDEST} on", BadDataError)

    @property
    def inputs(self) -> list[onnx.ValueInfoProto]:
        """Return the inputs of the graph. Constants, which old files also list as inputs, are left out."""
        constants = {each.name for each in self.proto.graph.initializer}
        return [each for each in self.proto.graph.input if each.name not in constants]

    def array(self, proto: onnx.TensorProto) -> tuple[Array, bool]:
        """Return a constant, and whether it is a view of a mapped file."""
        name = proto.name or "a constant"
        shape = tuple(proto.dims)
        need(
            all(each >= 0 for each in shape), f"{name} has dimensions {list(shape)}, must not be negative", BadDataError
        )
        if proto.data_location == EXTERNAL:
            return self._external_array(proto, name, shape)
        if proto.HasField("raw_data") and proto.data_type in DTYPES:
            known = self._arrays.get(id(proto))
            if known is not None:
                return known[1], False
            array = _from_bytes(np.frombuffer(proto.raw_data, np.uint8), proto, name, shape)
            if self.is_shared:
                self._arrays[id(proto)] = proto, array  # kept, because each read of raw_data copies it
            return array, False
        return _from_list(proto, name), False

    def order(self, array: Array) -> Array:
        """Return an array in C order; imports for several shapes share the copies of large constants."""
        key = array.ctypes.data, array.shape, array.strides, array.dtype
        if key in self._ordered:
            return self._ordered[key]
        ordered = np.ascontiguousarray(array)
        source = array.base
        if source is None or ordered is array or array.nbytes < SHARED:
            return ordered
        owners = (owner for _, each in self._arrays.values() for owner in (each, each.base))
        if any(source is each for each in owners):  # the owner is kept alive, so that no other array gets its address
            ordered.flags.writeable = False
            self._ordered[key] = ordered
        return ordered

    def _external_array(self, proto: onnx.TensorProto, name: str, shape: tuple[int, ...]) -> tuple[Array, bool]:
        entries = {entry.key: entry.value for entry in proto.external_data}
        location = entries.get("location", "")
        path = _find_external(self.folder, location, name)
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
        return _from_bytes(content, proto, name, shape), True


def newest_opset() -> int:
    from onnx import defs

    return int(defs.onnx_opset_version())


def _parse(memory: Memory) -> onnx.ModelProto:
    try:
        import onnx
        from google.protobuf.message import DecodeError
    except ImportError as error:
        raise OpFailedError(INSTALL) from error
    proto = onnx.ModelProto()
    try:
        proto.ParseFromString(memory.view().data.toreadonly())
    except DecodeError:
        raise BadDataError("it is not an ONNX model, or damaged: its protocol buffer cannot be parsed") from None
    need(proto.HasField("graph"), "it is not an ONNX model: it has no graph", BadDataError)
    return proto


def _find_external(folder: str | None, location: str, name: str) -> str:
    """Return the path of external data, which must lie in or below the model's folder."""
    if folder is None:
        raise BadDataError(f"{name} lies in the file {location!r}: load the model by its path")
    top = os.path.realpath(folder)
    path = top if "\0" in location else os.path.realpath(os.path.join(folder, location))
    inside = path != top and os.path.commonpath([path, top]) == top
    need(inside, f"{name} lies in {location!r}, which is outside the model's folder", BadDataError)
    need(os.path.isfile(path), f"{name} lies in {location!r}, which does not exist", BadDataError)
    return path


def _count(entries: dict[str, str], key: str, default: int, name: str) -> int:
    text = entries.get(key)
    if text is None:
        return default
    need(text.isdecimal() and len(text) < 20, f"{name} has the {key} {text!r} in its external data", BadDataError)
    return int(text)


def _from_bytes(content: Array, proto: onnx.TensorProto, name: str, shape: tuple[int, ...]) -> Array:
    dtype = DTYPES.get(proto.data_type)
    if dtype is None:
        raise Refused(f"{name} is of type {elem_name(proto.data_type)}, which NNAPI does not have")
    length = math.prod(shape) * dtype.itemsize
    need(
        content.nbytes == length, f"{name} holds {content.nbytes} bytes, its type and shape take {length}", BadDataError
    )
    array: Array = np.ndarray(shape, dtype, content.data, 0) if length else np.zeros(shape, dtype)
    return array != 0 if proto.data_type == BOOL and length else array


def _from_list(proto: onnx.TensorProto, name: str) -> Array:
    """Return a constant that lists its values one by one, or whose type only the library ``onnx`` unpacks."""
    from onnx import numpy_helper

    if proto.data_type not in (*DTYPES, INT4, UINT4, STRING):
        raise Refused(f"{name} is of type {elem_name(proto.data_type)}, which NNAPI does not have")
    need(math.prod(proto.dims) <= 2 * proto.ByteSize() + 8, f"{name} lists too few values", BadDataError)
    try:
        array: Any = numpy_helper.to_array(proto)
    except (ValueError, TypeError) as error:
        raise BadDataError(f"{name} is damaged: {error}") from None
    if proto.data_type in (INT4, UINT4):
        array = array.astype(np.int8 if proto.data_type == INT4 else np.uint8)
    return np.asarray(array)
