"""Metadata blocks of .tflite files, as they are stored."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Sequence
from typing import Any

import flatbuffers
import numpy as np

Fields = dict[int, tuple[str, Any]]
"""Of a table: by number, how a field is stored and its value."""


def table(b: flatbuffers.Builder, fields: Fields) -> int:
    """A table; "@" stands for what lies elsewhere, given by its offset, others are the struct module's letters."""
    prepend: dict[str, Callable[..., None]] = {
        "B": b.PrependUint8Slot,
        "b": b.PrependInt8Slot,
        "I": b.PrependUint32Slot,
        "f": b.PrependFloat32Slot,
        "?": b.PrependBoolSlot,
        "@": b.PrependUOffsetTRelativeSlot,
    }
    b.StartObject(16)
    for number, (code, value) in fields.items():
        prepend[code](number, value, 0)
    return int(b.EndObject())


def tables(b: flatbuffers.Builder, offsets: Sequence[int]) -> int:
    b.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        b.PrependUOffsetTRelative(offset)
    return int(b.EndVector())


def finish(b: flatbuffers.Builder, root: int, identifier: bytes) -> bytes:
    b.Finish(root, identifier)
    return bytes(b.Output())


def anchors_block(rows: Sequence[Sequence[float]]) -> bytes:
    """Of a detector whose boxes are stored with exponents and scores with sigmoid functions, with scales of 1."""
    b = flatbuffers.Builder()
    fixed = table(b, {0: ("@", tables(b, [table(b, {i: ("f", v) for i, v in enumerate(row)}) for row in rows]))})
    options = table(b, {0: ("@", fixed)})
    ones: Fields = dict.fromkeys((6, 7, 8, 9), ("f", 1.0))
    decoding = table(b, ones | {10: ("?", True), 11: ("?", True)})
    return finish(b, table(b, {1: ("@", options), 2: ("@", decoding)}), b"V001")


def block(
    *,
    name: str = "ImageClassifier",
    content: int = 2,
    rate: int = 0,
    mean: Sequence[float] = (),
    std: Sequence[float] = (),
    labels: Sequence[tuple[str, str]] = (),
    threshold: float | None = None,
    anchors: Sequence[Sequence[float]] = (),
) -> bytes:
    """One input of that content, one output; ``labels`` are names of files with their languages."""
    b = flatbuffers.Builder()
    units = []
    if mean:
        vectors = [b.CreateNumpyVector(np.array(each, np.float32)) for each in (mean, std)]
        options = table(b, {i: ("@", each) for i, each in enumerate(vectors)})
        units.append(table(b, {0: ("B", 1), 1: ("@", options)}))
    properties = table(b, {0: ("I", rate), 1: ("I", 1)})
    held = table(b, {0: ("B", content), 1: ("@", properties)})
    given = table(b, {0: ("@", b.CreateString("input")), 3: ("@", held), 4: ("@", tables(b, units))})
    texts = [(b.CreateString(file), b.CreateString(locale)) for file, locale in labels]
    files = tables(b, [table(b, {0: ("@", file), 2: ("b", 2), 3: ("@", locale)}) for file, locale in texts])
    after = [] if threshold is None else [table(b, {0: ("B", 3), 1: ("@", table(b, {0: ("f", threshold)}))})]
    result = table(b, {6: ("@", files), 4: ("@", tables(b, after))})
    fields: Fields = {2: ("@", tables(b, [given])), 3: ("@", tables(b, [result]))}
    if anchors:
        data, title = b.CreateByteVector(anchors_block(anchors)), b.CreateString("DETECTOR_METADATA")
        fields[9] = ("@", tables(b, [table(b, {0: ("@", title), 1: ("@", data)})]))
    graph = tables(b, [table(b, fields)])
    texts_of_model = b.CreateString(name), b.CreateString("what it is for")
    root: Fields = {0: ("@", texts_of_model[0]), 1: ("@", texts_of_model[1]), 3: ("@", graph)}
    return finish(b, table(b, root), b"M001")


def append_files(model: bytes, files: dict[str, str]) -> bytes:
    """The model's file with others in an archive behind it."""
    archive = io.BytesIO(model)
    with zipfile.ZipFile(archive, "a") as opened:
        for name, text in files.items():
            opened.writestr(name, text)
    return archive.getvalue()
