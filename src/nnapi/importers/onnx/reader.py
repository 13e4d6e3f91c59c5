"""Read ONNX files; constants are views of the mapped file, or of the mapped files of external data."""

import math
import os
from functools import cached_property
from typing import Any

import numpy as np

from nnapi.errors import BadDataError, need
from nnapi.formats.onnx import messages
from nnapi.formats.onnx.wire import DecodeError
from nnapi.garbage_collection import pause_collecting
from nnapi.importers.onnx.decode import decode
from nnapi.importers.onnx.file_graph import DEFAULT, FileContent
from nnapi.importers.onnx.tensors import (
    BOOL,
    DOUBLE,
    DTYPES,
    FLOAT,
    FLOAT16,
    INT64,
    NAMES,
    STRING,
    UINT32,
    UINT64,
    elem_name,
)
from nnapi.importers.refusals import Refused
from nnapi.model.memory import LARGE, Memory, mappings
from nnapi.model.operand import Array
from nnapi.shapes.array import is_symbolic

OLDEST = 6
"""The oldest opset that is read."""
NEWEST = 1000
"""The opset of a file that names none, larger than any: the newest that is known here."""
SHARED = 1 << 12
"""Arrays of at least this many bytes are shared among imports."""
EXTERNAL = 1
"""TensorProto.EXTERNAL: the values lie in another file."""
INT4, UINT4 = NAMES.index("INT4"), NAMES.index("UINT4")
INSTALL = "it needs the library onnx: pip install 'nnapi[onnx]'"
VIEWED = DTYPES.keys() - {BOOL}
"""Types that are stored as arrays have them."""
LISTS = {FLOAT: "float_data", DOUBLE: "double_data", INT64: "int64_data", UINT32: "uint64_data", UINT64: "uint64_data"}
"""The fields that list values one by one; those of other types lie in ``int32_data``."""


class File:
    """An ONNX model. ``folder`` is where its external data lies; None if the model is not read from a file."""

    def __init__(self, memory: Memory, path: str) -> None:
        self.size, self._address = memory.size, memory.view().ctypes.data
        self.folder = os.path.dirname(os.path.abspath(path)) if os.path.isfile(path) else None
        self.proto = _parse(memory)
        self.mapped: dict[str, Memory] = {}
        self.is_shared = False
        """Whether the file is imported for several shapes; these imports share large constants."""
        self._arrays: dict[int, tuple[messages.TensorProto, Array, bool]] = {}
        self._ordered: dict[tuple[Any, ...], Array] = {}
        need(len(self.proto.graph.output), "the model has no outputs", BadDataError)
        self.opsets = {"" if each.domain in DEFAULT else each.domain: each.version for each in self.proto.opset_import}
        opset = self.opsets.setdefault("", NEWEST)
        need(opset >= OLDEST, f"it is of opset {opset}; files are read from opset {OLDEST} on", BadDataError)

    @cached_property
    def content(self) -> FileContent:
        """Return the graph and the functions; raise BadDataError if one reads an undefined name."""
        return decode(self.proto)

    @property
    def inputs(self) -> list[messages.ValueInfoProto]:
        """Return the inputs of the graph. Constants, which old files also list as inputs, are left out."""
        constants = {each.name for each in self.proto.graph.initializer}
        return [each for each in self.proto.graph.input if each.name not in constants]

    def array(self, proto: messages.TensorProto) -> tuple[Array, bool]:
        """Return a constant, and whether it is a view of a mapped file."""
        name = proto.name or "a constant"
        shape = tuple(proto.dims)
        need(
            all(each >= 0 for each in shape), f"{name} has dimensions {list(shape)}, must not be negative", BadDataError
        )
        if proto.data_location == EXTERNAL:
            return self._external_array(proto, name, shape)
        known = self._arrays.get(id(proto))
        if known is not None:
            return known[1:]
        array = to_array(proto)
        is_view = proto.HasField("raw_data") and proto.data_type in VIEWED
        if self.is_shared:
            self._arrays[id(proto)] = proto, array, is_view
        return array, is_view

    def holds(self, array: Any) -> bool:
        """Return whether a large array is a view of the file, perhaps transposed. Models keep such a view instead of a
        copy, as an engine copies the constants anyway."""
        if is_symbolic(array) or array.nbytes < LARGE:
            return False
        return 0 <= array.ctypes.data - self._address < self.size or bool(mappings([array]))

    def order(self, array: Any) -> Any:
        """Return an array in C order; imports for several shapes share the copies of large constants."""
        if is_symbolic(array):
            return array
        key = array.ctypes.data, array.shape, array.strides, array.dtype
        if key in self._ordered:
            return self._ordered[key]
        ordered = np.ascontiguousarray(array)
        source = array.base
        if source is None or ordered is array or array.nbytes < SHARED:
            return ordered
        owners = (owner for _, each, _ in self._arrays.values() for owner in (each, each.base))
        if any(source is each for each in owners):  # the owner is kept alive, so that no other array gets its address
            ordered.flags.writeable = False
            self._ordered[key] = ordered
        return ordered

    def _external_array(self, proto: messages.TensorProto, name: str, shape: tuple[int, ...]) -> tuple[Array, bool]:
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


@pause_collecting()
def _parse(memory: Memory) -> messages.ModelProto:
    try:
        proto = messages.ModelProto(memory.view().data.toreadonly()).check()
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


def _from_bytes(content: Array, proto: messages.TensorProto, name: str, shape: tuple[int, ...]) -> Array:
    dtype = DTYPES.get(proto.data_type)
    if dtype is None:
        raise Refused(f"{name} is of type {elem_name(proto.data_type)}, which NNAPI does not have")
    length = math.prod(shape) * dtype.itemsize
    need(
        content.nbytes == length, f"{name} holds {content.nbytes} bytes, its type and shape take {length}", BadDataError
    )
    array: Array = np.ndarray(shape, dtype, content.data, 0) if length else np.zeros(shape, dtype)
    return array != 0 if proto.data_type == BOOL and length else array


def _from_list(proto: messages.TensorProto, name: str) -> Array:
    """Return a constant that lists its values one by one, or packs two 4-bit values in a byte."""
    kind, size = proto.data_type, math.prod(proto.dims)
    found: Array
    if kind in (INT4, UINT4):
        found = _unpack_nibbles(proto, is_signed=kind == INT4)[:size]
    elif kind == STRING:
        found = np.array([each.decode(errors="replace") for each in proto.string_data], object)
    elif kind in DTYPES:
        member = LISTS.get(kind, "int32_data")
        stored = np.uint16 if kind == FLOAT16 else DTYPES[kind]
        found = np.array(getattr(proto, member)).astype(stored).view(DTYPES[kind])
    else:
        raise Refused(f"{name} is of type {elem_name(kind)}, which NNAPI does not have")
    need(found.size == size, f"{name} lists {found.size} values, its shape takes {size}", BadDataError)
    return found.reshape(proto.dims)


def _unpack_nibbles(proto: messages.TensorProto, *, is_signed: bool) -> Array:
    packed = np.frombuffer(proto.raw_data, np.uint8) if proto.raw_data else np.array(proto.int32_data).astype(np.uint8)
    nibbles = np.stack([packed & 15, packed >> 4], -1).reshape(-1).astype(np.int8)
    return (nibbles ^ 8) - 8 if is_signed else nibbles.astype(np.uint8)


def to_array(proto: messages.TensorProto) -> Array:
    """Return a constant whose values lie in the message."""
    if proto.HasField("raw_data") and proto.data_type in DTYPES:
        content = np.frombuffer(proto.raw_data, np.uint8)
        return _from_bytes(content, proto, proto.name or "a constant", tuple(proto.dims))
    return _from_list(proto, proto.name or "a constant")


def need_library() -> None:
    """Raise Refused without the library ``onnx``, which few operators need."""
    try:
        import onnx  # noqa: F401  # on demand: it takes longer to import than most files
    except ImportError:
        raise Refused(INSTALL) from None
