"""Digests by which the cache and the measurements know a model and their own files again.

They tell apart what differs by accident; whoever can write to the cache's directory needs no collision to do harm.
"""

from __future__ import annotations

import marshal
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from nnapi.model.extension import EXTENSIONS
from nnapi.model.model import Lifetime, Model
from nnapi.model.operand import Array, OperandType

try:  # Python's own, without the megabytes of OpenSSL that come with hashlib
    from _blake2 import blake2b
    from _sha256 import sha256 as _sha256  # type: ignore[import-not-found]
except ImportError:
    from hashlib import blake2b
    from hashlib import sha256 as _sha256

LARGE = 1 << 14
"""Bytes from which data are summed up before they are hashed."""
WIDTH = 512
"""Words in a row of such data."""
WORD = 8
MARSHAL = 2
"""The latest format in which equal values are equal bytes."""
LIFETIMES = {id(lifetime): number for number, lifetime in enumerate(Lifetime)}
"""Numbers by the identity of what they stand for, which an enumeration's own hash is slower than."""

_known: WeakKeyDictionary[Model, bytes] = WeakKeyDictionary()


def sha256(data: bytes) -> bytes:
    """SHA-256."""
    hashed: bytes = _sha256(data).digest()
    return hashed


def digest(*parts: Any) -> bytes:
    """32 bytes that change with any of the parts, contiguous bytes of which large ones are summed up first."""
    state = blake2b(digest_size=32)
    for part in parts:
        view = memoryview(part).cast("B")
        state.update(view.nbytes.to_bytes(WORD, "little"))
        if view.nbytes < LARGE:
            state.update(view)
        else:
            for sums in summed(np.frombuffer(view, np.uint8)):
                state.update(sums.data)
    return state.digest()


def summed(data: Array) -> tuple[Array, Array, Array]:
    """Sums of 8-byte words along rows and along columns, and what is left over behind the last whole row.

    They come as fast as memory is read. Any change of one word, or of several in one row or one column, changes them.
    """
    whole = len(data) - len(data) % (WIDTH * WORD)
    words = data[:whole].view(np.uint64).reshape(-1, WIDTH)
    return np.add.reduce(words, 1), np.add.reduce(words, 0), data[whole:]


def content_hash(model: Model) -> bytes:
    """A digest of everything that decides what a finished model computes; made once for each."""
    found = _known.get(model)
    if found is None:
        found = _known[model] = digest(marshal.dumps(_description(model), MARSHAL), *_constants(model))
    return found


def take_for(model: Model, digest: bytes) -> None:
    """Let that be the digest of a model, which was made before: of one that is still to be described."""
    _known[model] = digest


def _description(model: Model) -> Any:
    operands = [(LIFETIMES[id(operand.lifetime)], *_described(operand.type)) for operand in model.operands]
    inner = [content_hash(operand.value) for operand in model.operands if operand.lifetime is Lifetime.SUBGRAPH]
    operations = [(*_code(call.code), call.inputs, call.outputs) for call in model.operations]
    return model.inputs, model.outputs, model.relaxed, operands, inner, operations


def _described(type: OperandType) -> tuple[Any, ...]:
    channel = type.channel
    scales = None if channel is None else (channel.dimension, np.array(channel.scales, np.float32).tobytes())
    return *_code(type.code), type.dimensions, type.scale, type.zero_point, scales, type.data


def _code(code: int) -> tuple[bytes, int]:
    """A type's number so that it means the same in every process: prefixes of extensions do not."""
    extension = EXTENSIONS.name(code) if code > 0xFFFF else None
    return (extension.encode(), code & 0xFFFF) if extension else (b"", int(code))


def _constants(model: Model) -> list[Any]:
    """The constants' bytes, small ones joined."""
    small: list[Any] = []
    large: list[Any] = []
    for operand in model.operands:
        if operand.lifetime is Lifetime.CONSTANT:
            value = operand.value if operand.value.flags.c_contiguous else np.ascontiguousarray(operand.value)
            (small if value.nbytes < LARGE else large).append(value.reshape(-1).view(np.uint8))
    return [b"".join(small), *large]
