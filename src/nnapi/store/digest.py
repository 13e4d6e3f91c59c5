"""Digests of models and cache files, and names of files by digests. BLAKE3 runs at memory speed and takes 0.5 MB;
hashlib's OpenSSL takes 3 MB."""

import sys
from collections.abc import Iterable
from importlib import import_module
from typing import Any

from blake3 import blake3

WORD = 8
PAIRS = [chr(ord("A") + (byte & 15)) + chr(ord("A") + (byte >> 4)) for byte in range(256)]
SUFFIX = "10"
"""The last two letters of every name, as in the reference runtime: a model cache file (1), the first (0)."""


def digest(*parts: Any) -> bytes:
    """Return the 32-byte digest of contiguous buffers; it also depends on the length of each buffer."""
    return digest_each(parts)


def digest_each(parts: Iterable[Any]) -> bytes:
    state = blake3()
    for part in parts:
        view = memoryview(part).cast("B")
        state.update(view.nbytes.to_bytes(WORD, "little"))
        state.update(view)
    return state.digest()


def sha256(data: bytes) -> bytes:
    """Return the SHA-256 of bytes, by CPython's own module: OpenSSL takes 3 MB and as long as a small model."""
    try:
        made = import_module("_sha2" if sys.version_info >= (3, 12) else "_sha256").sha256(data)
    except (ImportError, AttributeError):
        made = import_module("hashlib").sha256(data)
    found: bytes = made.digest()
    return found


def name_of_key(key: bytes) -> str:
    """Return the file name of a 32-byte key: two letters a byte, the low half first, then the suffix."""
    return "".join([PAIRS[byte] for byte in key]) + SUFFIX
