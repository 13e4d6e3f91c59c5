"""The compilation cache that nobody named a directory for, so that a file's second compilation need not read it.

It holds what was made of models that are the content of a file, and of others on demand, while tuning is on: like what
was measured of them, it belongs to this machine. What it does not tell by itself is whether the code that made an entry
is the code of today, so the name of an entry depends on that too.
"""

from __future__ import annotations

import os

from nnapi.model.content_hash import hash_content
from nnapi.model.model import Model
from nnapi.runtime.cache.compilation_cache import Cache
from nnapi.runtime.settings import tunes
from nnapi.store.digest import digest
from nnapi.store.directories import RecordKind, directory_of
from nnapi.store.files import make_directory
from nnapi.store.sources import find_last_change

LIMIT = 1 << 28
"""Bytes of all its entries."""
Place = str | os.PathLike[str] | tuple[str | os.PathLike[str], bytes] | bool
"""A directory, or one and the token of the model; True for the runtime's own, False for none."""


def open_cache(model: Model, given: Place | None) -> Cache | None:
    """The one that was given for a model, made where there is none, else the runtime's own."""
    if isinstance(given, tuple):
        return Cache(*given)
    model.need_mapped()
    if given is None or isinstance(given, bool):
        wanted = given or (given is None and model.origin is not None)
        return open_own_cache(model) if wanted and tunes() else None
    make_directory(given)
    return Cache(given, hash_content(model))


def open_own_cache(model: Model) -> Cache | None:
    """The cache for a model; None where nothing can be kept."""
    directory = directory_of(RecordKind.PREPARED)
    try:
        make_directory(directory)
    except OSError:
        return None
    return Cache(directory, digest(hash_content(model), find_last_change()), LIMIT, is_own=True)
