"""Digests by which caches know models and their own files again.

They are BLAKE3: cryptographic, and made as fast as the data come from memory, so that nothing needs to be summed up or
left out. Its module takes half a megabyte, hashlib with OpenSSL six times that.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib import import_module
from typing import Any

from blake3 import blake3

WORD = 8


def digest(*parts: Any) -> bytes:
    """32 bytes that change with any of the parts, which are contiguous bytes, and with the bounds between them."""
    return digest_each(parts)


def digest_each(parts: Iterable[Any]) -> bytes:
    """The :func:`digest` of parts that are made one after the other."""
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
