"""The notes of a model's file, such as labels and ranges of pixels, for a file of the same or of the other format."""

from pathlib import Path

from nnapi.cli.failure import warn
from nnapi.errors import BadDataError
from nnapi.exporters.file_notes import NO_NOTES, FileNotes
from nnapi.formats.tflite import IDENTIFIER
from nnapi.formats.tflite.metadata import (
    BLOCK,
    Content,
    Metadata,
    TensorNotes,
    read_associated_files,
    read_block,
    read_metadata,
)
from nnapi.formats.tflite.metadata_writer import build_archive, build_block
from nnapi.model.memory import Memory
from nnapi.model.model import Model
from nnapi.vision.file_metadata import (
    MEAN,
    RANGE,
    RANGES,
    RATE,
    STD,
    TASKS_BY_NAME,
    THRESHOLD,
    Description,
    describe,
    read_properties,
)

LABEL_FILE = "labels.txt"


def read_notes(file: Path, model: Model, suffix: str) -> FileNotes:
    """Return the notes of the file that a model was loaded from, for a file with this suffix; a warning says what is
    lost."""
    content = Memory.from_file(file).view().data.toreadonly()
    is_tflite = content[4:8] == IDENTIFIER
    try:
        if is_tflite and suffix == ".tflite":
            block = read_block(content)
            return NO_NOTES if block is None else FileNotes({BLOCK: block}, _archive(file))
        if not is_tflite and suffix == ".onnx":
            properties, text = read_properties(file)
            return FileNotes(properties=properties, description=text)
        found = describe(file)
        if found.warning:
            warn(found.warning)
        metadata = read_metadata(content) if is_tflite else None
        text = metadata.description if metadata else "" if is_tflite else read_properties(file)[1]
        return _for_onnx(found, text) if suffix == ".onnx" else _for_tflite(found, text, model)
    except BadDataError as error:
        warn(f"{file.name}: its metadata is not written: {error.message}")
        return NO_NOTES


def _archive(file: Path) -> bytes:
    files = read_associated_files(file)
    return build_archive(files) if files else b""


def _for_onnx(found: Description, text: str) -> FileNotes:
    properties = {}
    if found.task:
        properties["task"] = str(found.task)
    if found.labels:
        properties["names"] = repr(dict(enumerate(found.labels)))
    named = next((name for name, pixels in RANGES.items() if pixels == found.pixels), None)
    if named:
        properties[RANGE] = named
    elif found.pixels.is_given:
        properties |= {MEAN: _join(found.pixels.mean or (0.0,)), STD: _join(found.pixels.std or (1.0,))}
    if found.threshold is not None:
        properties[THRESHOLD] = repr(found.threshold)
    if found.sample_rate:
        properties[RATE] = str(found.sample_rate)
    if found.anchors:
        warn("the anchors of boxes are not written: .onnx files have no place for them")
    return FileNotes(properties=properties, description=text)


def _join(values: tuple[float, ...]) -> str:
    return ",".join(map(repr, values))


def _for_tflite(found: Description, text: str, model: Model) -> FileNotes:
    is_told = found.task or found.labels or found.pixels.is_given or text or found.threshold is not None
    if not (is_told or found.sample_rate):
        return NO_NOTES
    kind = Content.AUDIO if found.sample_rate else Content.IMAGE if found.pixels.is_given else Content.UNKNOWN
    channels = int(bool(found.sample_rate))
    names = [[model.operands[index].name for index in side] for side in (model.inputs, model.outputs)]
    mean, std = found.pixels.mean or (), found.pixels.std or ()
    first = TensorNotes(names[0][0], "", kind, mean, std, None, found.sample_rate, channels)
    result = TensorNotes(names[1][0], threshold=found.threshold, labels=LABEL_FILE if found.labels else "")
    inputs = (first, *map(TensorNotes, names[0][1:]))
    outputs = (result, *map(TensorNotes, names[1][1:]))
    name = next((name for name, task in TASKS_BY_NAME.items() if task is found.task), "")
    files = {LABEL_FILE: "\n".join(found.labels).encode()} if found.labels else {}
    block = build_block(Metadata(name, text, inputs, outputs))
    return FileNotes({BLOCK: block}, build_archive(files) if files else b"")
