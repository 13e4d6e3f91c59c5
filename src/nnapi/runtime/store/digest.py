"""Digests by which the cache and the measurements know a model and their own files again.

They are BLAKE3: cryptographic, and made as fast as the data come from memory, so that nothing needs to be summed up or
left out. Its module takes half a megabyte, hashlib with OpenSSL six times that.
"""

from __future__ import annotations

import marshal
import sys
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from importlib import import_module
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from blake3 import blake3

from nnapi.errors import NnapiError
from nnapi.model.extension import EXTENSIONS
from nnapi.model.memory import give_back
from nnapi.model.model import Lifetime, Model, constants
from nnapi.model.nesting import list_nested, list_references
from nnapi.model.operand import Array, OperandType

WORD = 8
LARGE = 1 << 16
"""Bytes of a constant whose pages are worth giving back."""
MARSHAL = 2
"""The latest format in which equal values are equal bytes."""
LIFETIMES = {id(lifetime): number for number, lifetime in enumerate(Lifetime)}
"""Numbers by the identity of what they stand for, which an enumeration's own hash is slower than."""

_known: WeakKeyDictionary[Model, bytes] = WeakKeyDictionary()


def digest(*parts: Any) -> bytes:
    """32 bytes that change with any of the parts, which are contiguous bytes, and with the bounds between them."""
    return _digest_each(parts)


def _digest_each(parts: Iterable[Any]) -> bytes:
    state = blake3()
    for part in parts:
        view = memoryview(part).cast("B")
        state.update(view.nbytes.to_bytes(WORD, "little"))
        state.update(view)
    return state.digest()


def sha256(data: bytes) -> bytes:
    """The 32 bytes that the name of an entry of the cache spells, as the reference runtime's does.

    Python's own computes them: hashlib brings OpenSSL with it, 3 MB and as much time as a small model.
    """
    try:
        made = import_module("_sha2" if sys.version_info >= (3, 12) else "_sha256").sha256(data)
    except (ImportError, AttributeError):
        made = import_module("hashlib").sha256(data)
    found: bytes = made.digest()
    return found


def hash_content(model: Model) -> bytes:
    """A digest of everything that decides what a finished model computes; made once for each."""
    return _hash(model, _known)


def is_as_hashed(model: Model) -> bool:
    """Whether a model is still what its digest was made of: the files that its constants are mapped from can change."""
    try:
        model.need_mapped()
    except NnapiError:
        return False
    return _hash(model, {}, gives_back=True) == hash_content(model)


def _hash(model: Model, known: MutableMapping[Model, bytes], *, gives_back: bool = False) -> bytes:
    found = known.get(model)
    if found is None:
        for each in list_nested(model):
            if each not in known:
                known[each] = _digest_each(_list_parts(each, known, gives_back))
        found = known[model]
    return found


def set_content_hash(model: Model, digest: bytes) -> None:
    """Let that be the digest of a model, which was made before: of one that is still to be described."""
    _known[model] = digest


def _describe(model: Model, known: Mapping[Model, bytes]) -> Any:
    operands = [(LIFETIMES[id(operand.lifetime)], *_describe_type(operand.type)) for operand in model.operands]
    inner = [known[each] for each in list_references(model)]
    operations = [(*_describe_code(call.code), call.inputs, call.outputs) for call in model.operations]
    return model.inputs, model.outputs, model.relaxed, model.dynamic_range, operands, inner, operations


def _describe_type(type: OperandType) -> tuple[Any, ...]:
    channel = type.channel
    scales = None if channel is None else (channel.dimension, np.array(channel.scales, np.float32).tobytes())
    return *_describe_code(type.code), type.dimensions, type.scale, type.zero_point, scales, type.data


def _describe_code(code: int) -> tuple[bytes, int]:
    """A type's number so that it means the same in every process: prefixes of extensions do not."""
    extension = EXTENSIONS.name(code) if code > 0xFFFF else None
    return (extension.encode(), code & 0xFFFF) if extension else (b"", int(code))


def _list_parts(model: Model, known: Mapping[Model, bytes], gives_back: bool) -> Iterator[bytes | Array]:
    """What a model is without its constants, and the bytes of each; large ones may be given back after that, as an
    engine that was given them keeps its own."""
    yield marshal.dumps(_describe(model, known), MARSHAL)
    for value in constants(model):
        yield np.ascontiguousarray(value).reshape(-1).view(np.uint8)
        if gives_back and value.nbytes >= LARGE:
            give_back([value])
