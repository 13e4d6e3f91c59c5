"""The metadata of a .tflite file: preprocessing of inputs, meaning of outputs.

The metadata is a FlatBuffer in one of the file's buffers. Files that it names, such as label files, are members of a
zip archive behind the model. Damaged metadata raises BadDataError.
"""

import os
import zipfile
import zlib
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from nnapi.errors import BadDataError, need
from nnapi.formats.tflite import schema
from nnapi.formats.tflite.flatbuffer import Record, Source

BLOCK, IDENTIFIER = "TFLITE_METADATA", b"M001"
DETECTOR = "DETECTOR_METADATA"
"""The custom block with the anchors of detectors without post-processing."""
LARGEST = 1 << 24


class _Model:
    NAME, DESCRIPTION, _, SUBGRAPHS = range(4)


class _Subgraph:
    INPUTS, OUTPUTS, CUSTOM = 2, 3, 9


class _Tensor:
    NAME, DESCRIPTION, _, CONTENT, UNITS, _, FILES = range(7)


class _Content:
    TYPE, PROPERTIES = range(2)


class _File:
    NAME, _, TYPE, LOCALE = range(4)


class _Decoding:
    COORDINATES, X_SCALE, Y_SCALE, W_SCALE, H_SCALE, HAS_EXPONENT, HAS_SIGMOID = 2, 6, 7, 8, 9, 10, 11


NORMALIZATION, THRESHOLD = 1, 3
"""Kinds of process units: (value - mean) / std of inputs; the lowest valid score."""
LABELS = (2, 3)
"""Kinds of associated files: names along an axis, names of values."""


class Content(IntEnum):
    UNKNOWN, FEATURE, IMAGE, BOXES, AUDIO = range(5)


@dataclass(frozen=True)
class TensorNotes:
    """An input or output. ``labels`` is the name of a file in the archive; ``threshold`` the lowest valid score, or
    None."""

    name: str = ""
    description: str = ""
    content: Content = Content.UNKNOWN
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    threshold: float | None = None
    sample_rate: int = 0
    channels: int = 0
    labels: str = ""


class Anchors(NamedTuple):
    """Anchors of boxes: x, y, width, height as fractions of the image; ``scales`` divide the model's values."""

    anchors: tuple[tuple[float, float, float, float], ...]
    scales: tuple[float, float, float, float]
    has_exponent: bool
    has_sigmoid: bool


@dataclass(frozen=True)
class Metadata:
    name: str
    description: str
    inputs: tuple[TensorNotes, ...]
    outputs: tuple[TensorNotes, ...]
    anchors: Anchors | None = None


def read_associated_file(path: str | os.PathLike[str], name: str) -> bytes:
    try:
        with zipfile.ZipFile(path) as archive:
            size = archive.getinfo(name).file_size
            need(size <= LARGEST, f"{name} in the file has {size} bytes", BadDataError)
            return archive.read(name)
    except KeyError:
        raise BadDataError(f"it names {name}, which is not in the file") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError) as error:
        raise BadDataError(f"{name}, which it names, cannot be read: {error}") from None


def read_metadata(content: memoryview) -> Metadata | None:
    block = read_block(content)
    return None if block is None else _parse(block)


def read_block(content: memoryview) -> bytes | None:
    """Return the metadata as it is in the file; None if there is none."""
    source = Source(content)
    model = source.root()
    for record in model.children(schema.Model.METADATA):
        if record.text(schema.Metadata.NAME) == BLOCK:
            number = record.number(schema.Metadata.BUFFER, "I")
            buffers = list(model.children(schema.Model.BUFFERS))
            need(number < len(buffers), f"its buffer {number} is not in the file", BadDataError)
            block: bytes = buffers[number].bytes(schema.Buffer.DATA)
            return block
    return None


def read_associated_files(path: str | os.PathLike[str]) -> dict[str, bytes]:
    """Return all files in the archive behind the model, by name."""
    if not zipfile.is_zipfile(path):
        return {}
    with zipfile.ZipFile(path) as archive:
        return {name: read_associated_file(path, name) for name in archive.namelist()}


def _parse(block: bytes) -> Metadata:
    need(block[4:8] == IDENTIFIER, f"its bytes 4 to 8 are {block[4:8]!r}, not {IDENTIFIER!r}", BadDataError)
    root = Source(memoryview(block)).root()
    graph = next(root.children(_Model.SUBGRAPHS), None)
    sides = [[] if graph is None else list(graph.children(side)) for side in (_Subgraph.INPUTS, _Subgraph.OUTPUTS)]
    inputs, outputs = (tuple(map(_read_tensor, side)) for side in sides)
    anchors = None
    for custom in graph.children(_Subgraph.CUSTOM) if graph else ():
        if custom.text(0) == DETECTOR:
            anchors = _read_anchors(Source(memoryview(custom.bytes(1))).root())
    return Metadata(root.text(_Model.NAME), root.text(_Model.DESCRIPTION), inputs, outputs, anchors)


def _read_tensor(tensor: Record) -> TensorNotes:
    mean, std, threshold, rate, channels = (), (), None, 0, 0
    kind = Content.UNKNOWN
    content = tensor.child(_Tensor.CONTENT)
    if content is not None:
        number = content.number(_Content.TYPE, "B")
        kind = Content(number) if number in list(Content) else Content.UNKNOWN
        properties = content.child(_Content.PROPERTIES)
        if kind is Content.AUDIO and properties is not None:
            rate, channels = properties.number(0, "I"), properties.number(1, "I")
    for unit in tensor.children(_Tensor.UNITS):
        number, options = unit.number(0, "B"), unit.child(1)
        if options is not None and number == NORMALIZATION:
            mean, std = options.numbers(0, "f"), options.numbers(1, "f")
        elif options is not None and number == THRESHOLD:
            threshold = options.number(0, "f", 0.0)
    files = [file for file in tensor.children(_Tensor.FILES) if file.number(_File.TYPE, "b") in LABELS]
    files.sort(key=lambda file: file.text(_File.LOCALE) not in ("", "en"))  # the others are translations
    labels = files[0].text(_File.NAME) if files else ""
    name, description = tensor.text(_Tensor.NAME), tensor.text(_Tensor.DESCRIPTION)
    return TensorNotes(name, description, kind, mean, std, threshold, rate, channels, labels)


def _read_anchors(root: Record) -> Anchors | None:
    options, decoding = root.child(1), root.child(2)
    fixed = options.child(0) if options else None
    if fixed is None or decoding is None:
        return None
    found = tuple(tuple(each.number(i, "f", 0.0) for i in range(4)) for each in fixed.children(0))
    fields = (_Decoding.X_SCALE, _Decoding.Y_SCALE, _Decoding.W_SCALE, _Decoding.H_SCALE)
    scales = tuple(decoding.number(each, "f", 0.0) for each in fields)
    need(all(scales), "a scale of its boxes is 0", BadDataError)
    flags = (decoding.number(each, "?", False) for each in (_Decoding.HAS_EXPONENT, _Decoding.HAS_SIGMOID))
    return Anchors(found, scales, *flags)
