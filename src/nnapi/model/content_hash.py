"""The digest of a model's content, by which caches and measurements identify it."""

import marshal
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any
from weakref import WeakKeyDictionary, ref

import numpy as np

from nnapi.errors import NnapiError
from nnapi.model.extension import EXTENSIONS
from nnapi.model.memory import release_pages, view_bytes
from nnapi.model.model import Lifetime, Model, constants
from nnapi.model.nesting import list_nested, list_references
from nnapi.model.operand import Array, OperandType
from nnapi.store.digest import digest, digest_each

LARGE = 1 << 16
"""Constants of at least this many bytes have digests of their own. Their pages may be released after hashing."""
MARSHAL = 2
"""The marshal version that encodes equal values as equal bytes."""
LIFETIMES = {id(lifetime): number for number, lifetime in enumerate(Lifetime)}

MOST_ARRAYS = 10_000
"""The largest number of cached digests of constants."""
_arrays: dict[int, tuple[ref[Array], bytes]] = {}
"""Digests of large constants by identity."""
_known: WeakKeyDictionary[Model, bytes] = WeakKeyDictionary()


def hash_content(model: Model) -> bytes:
    """Return the digest of a finished model, computed once."""
    return _hash(model, _known)


def is_as_hashed(model: Model) -> bool:
    """Return whether the files of the model's constants are unchanged since its digest was computed."""
    try:
        model.need_mapped()
    except NnapiError:
        return False
    return _hash(model, {}, releases_pages=True) == hash_content(model)


def _hash(model: Model, known: MutableMapping[Model, bytes], *, releases_pages: bool = False) -> bytes:
    found = known.get(model)
    if found is None:
        for each in list_nested(model):
            if each not in known:
                known[each] = digest_each(_list_parts(each, known, releases_pages))
        found = known[model]
    return found


def set_content_hash(model: Model, digest: bytes) -> None:
    _known[model] = digest


def _describe(model: Model, known: Mapping[Model, bytes]) -> Any:
    operands = [(LIFETIMES[id(operand.lifetime)], *_describe_type(operand.type)) for operand in model.operands]
    inner = [known[each] for each in list_references(model)]
    operations = [(*_describe_code(call.code), call.inputs, call.outputs) for call in model.operations]
    permitted = model.precision.value, model.dynamic_range, model.rounded_states, model.empty_tensors
    empty = sorted(model.empty_inputs)
    return model.inputs, model.outputs, *permitted, empty, operands, inner, operations


def _describe_type(type: OperandType) -> tuple[Any, ...]:
    channel = type.channel
    scales = None if channel is None else (channel.dimension, np.array(channel.scales, np.float32).tobytes())
    return *_describe_code(type.code), type.dimensions, type.scale, type.zero_point, scales, type.data


def _describe_code(code: int) -> tuple[bytes, int]:
    extension = EXTENSIONS.name(code) if code > 0xFFFF else None
    return (extension.encode(), code & 0xFFFF) if extension else (b"", int(code))


def _list_parts(model: Model, known: Mapping[Model, bytes], releases_pages: bool) -> Iterator[bytes | Array]:
    """Yield the model's description without constants, then the bytes of each constant, or a large one's digest.

    With ``releases_pages``, the pages of a large constant are released after its bytes are read.
    """
    yield marshal.dumps(_describe(model, known), MARSHAL)
    for value in constants(model):
        if value.nbytes < LARGE:
            yield view_bytes(value)
        elif releases_pages:
            yield digest(view_bytes(value))
            release_pages([value])
        else:
            yield _hash_array(value)


def _hash_array(value: Array) -> bytes:
    """Return the digest of a large constant, computed once: a model's specializations share their constants."""
    found = _arrays.get(id(value))
    if found is None or found[0]() is not value:
        if len(_arrays) > MOST_ARRAYS:
            _arrays.clear()
        found = _arrays[id(value)] = ref(value), digest(view_bytes(value))
    return found[1]
