"""Write the metadata of a .tflite file: a block in one of its buffers, and an archive of the files that it names."""

import io
import zipfile
from collections.abc import Mapping, Sequence
from functools import partial

from nnapi.formats.tflite.layout import REFERENCE, Layout
from nnapi.formats.tflite.metadata import IDENTIFIER, LABELS, NORMALIZATION, THRESHOLD, Content, Metadata, TensorNotes
from nnapi.formats.tflite.writer import Writer

R = REFERENCE
MODEL = Layout({"name": (0, R), "description": (1, R), "subgraphs": (3, R)})
SUBGRAPH = Layout({"inputs": (2, R), "outputs": (3, R)})
TENSOR = Layout({"name": (0, R), "description": (1, R), "content": (3, R), "units": (4, R), "files": (6, R)})
UNION = Layout({"type": (0, "b"), "value": (1, R)})
AUDIO = Layout({"rate": (0, "I"), "channels": (1, "I")})
EMPTY = Layout({})
NORMALIZING = Layout({"mean": (0, R), "std": (1, R)})
THRESHOLDING = Layout({"threshold": (0, "f")})
FILE = Layout({"name": (0, R), "type": (2, "b")})


def build_block(metadata: Metadata) -> bytes:
    """Return the block that describes a model without anchors."""
    writer = Writer()
    writer.out += bytes(4) + IDENTIFIER
    root = writer.table(MODEL)
    writer.child(0, root)
    writer.text(root + MODEL.at["name"], metadata.name)
    writer.text(root + MODEL.at["description"], metadata.description)
    writer.children(root + MODEL.at["subgraphs"], 1, lambda: [_subgraph(writer, metadata)])
    return bytes(writer.out)


def build_archive(files: Mapping[str, bytes]) -> bytes:
    """Return a zip archive, which readers find at the end of the model's file."""
    stored = io.BytesIO()
    with zipfile.ZipFile(stored, "w") as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return stored.getvalue()


def _subgraph(writer: Writer, metadata: Metadata) -> int:
    table = writer.table(SUBGRAPH)
    for field, notes in (("inputs", metadata.inputs), ("outputs", metadata.outputs)):
        writer.children(table + SUBGRAPH.at[field], len(notes), partial(_tensors, writer, notes))
    return table


def _tensors(writer: Writer, notes: Sequence[TensorNotes]) -> list[int]:
    return [_tensor(writer, each) for each in notes]


def _tensor(writer: Writer, notes: TensorNotes) -> int:
    table = writer.table(TENSOR)
    at = {name: table + offset for name, offset in TENSOR.at.items()}
    writer.text(at["name"], notes.name)
    writer.text(at["description"], notes.description)
    is_audio = notes.content is Content.AUDIO
    content = writer.table(UNION, type=int(notes.content))
    writer.child(at["content"], content)
    sound = {"rate": notes.sample_rate, "channels": notes.channels}
    writer.child(content + UNION.at["value"], writer.table(AUDIO, **sound) if is_audio else writer.table(EMPTY))
    units = [partial(_normalization, writer, notes)] if notes.mean or notes.std else []
    units += [partial(_threshold, writer, notes)] if notes.threshold is not None else []
    writer.children(at["units"], len(units), lambda: [write() for write in units])
    writer.children(at["files"], int(bool(notes.labels)), lambda: [_label_file(writer, notes)] if notes.labels else [])
    return table


def _normalization(writer: Writer, notes: TensorNotes) -> int:
    unit = writer.table(UNION, type=NORMALIZATION)
    options = writer.table(NORMALIZING)
    writer.child(unit + UNION.at["value"], options)
    writer.vector(options + NORMALIZING.at["mean"], notes.mean or (0.0,), "f")  # type: ignore[arg-type]  # floats too
    writer.vector(options + NORMALIZING.at["std"], notes.std or (1.0,), "f")  # type: ignore[arg-type]
    return unit


def _threshold(writer: Writer, notes: TensorNotes) -> int:
    unit = writer.table(UNION, type=THRESHOLD)
    writer.child(unit + UNION.at["value"], writer.table(THRESHOLDING, threshold=notes.threshold))
    return unit


def _label_file(writer: Writer, notes: TensorNotes) -> int:
    table = writer.table(FILE, type=LABELS[0])
    writer.text(table + FILE.at["name"], notes.labels)
    return table
