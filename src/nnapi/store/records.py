"""Small JSON records: one file each, in the folder of its kind, named by the digest of its key."""

import json
import os
import time
from collections.abc import Callable
from typing import Any, TypeVar

from nnapi.store.digest import digest, name_of_key
from nnapi.store.directories import HOLDS, RecordKind, directory_of
from nnapi.store.entry import Content, Label, mark_used, prune_if_full, read_entry, write_entry
from nnapi.store.failed_writes import note_failed_write
from nnapi.store.files import make_directory
from nnapi.trace.log import Log

log = Log("nnapi.CompilationCache")

T = TypeVar("T")

LIMIT = 1 << 20


def path_of(kind: RecordKind, key: str) -> str:
    return os.path.join(directory_of(kind), name_of_key(digest(key.encode())))


def recall_record(kind: RecordKind, key: str, parse: Callable[[Any], T]) -> T | None:
    """Return ``parse`` of the JSON value stored under a key; None if the record is missing or unreadable."""
    path = path_of(kind, key)
    content = read_entry(path)
    if content is None or content.purpose != key:
        return None
    try:
        found = parse(json.loads(bytes(content.payload)))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        log.info("%s is ignored, another version may have written it: %r", path, error)
        return None
    mark_used(path)
    return found


def forget_record(kind: RecordKind, key: str) -> None:
    try:
        os.unlink(path_of(kind, key))
    except FileNotFoundError:
        pass
    except OSError as error:
        log.info("cannot remove a record of %s: %s", HOLDS[kind], error)


def keep_record(
    kind: RecordKind, key: str, content: Any, *, model: str = "", device: str = "", version: str = ""
) -> None:
    """Store a JSON value under a key. The label (model, device, version) is for people; errors are logged."""
    path = path_of(kind, key)
    directory = os.path.dirname(path)
    label = Label(model, device, version, time.time())
    try:
        make_directory(directory)
        write_entry(path, label, Content(key, b"", json.dumps(content).encode()))
        prune_if_full(directory, LIMIT)
    except OSError as error:
        note_failed_write(error)
        log.info("cannot write a record of %s: %s", HOLDS[kind], error)
