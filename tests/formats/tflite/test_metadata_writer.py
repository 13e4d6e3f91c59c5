"""Metadata that is written is what is read again."""

import zipfile
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

from nnapi.formats.tflite.graph import Graph, Operator, Tensor
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
from nnapi.formats.tflite.writer import serialize


def file_with(metadata: Metadata, archive: bytes = b"") -> bytes:
    x, y = (Tensor("f32", (2,), 0.0, 0, 0, None, name) for name in "xy")
    weights = Tensor("f32", (2,), 0.0, 0, 0, np.array([3, 4], np.float32), "w")
    graph = Graph([Operator("ADD", [x, weights], [y])], [x], [y])
    return serialize(graph, tail=archive, blocks={BLOCK: build_block(metadata)})


@pytest.mark.parametrize(
    "metadata",
    [
        Metadata("", "", (), ()),
        Metadata("ImageClassifier", "what it is for", (TensorNotes("x"),), (TensorNotes("y"),)),
        Metadata(
            "",
            "",
            (TensorNotes("x", "a picture", Content.IMAGE, (1.0, 2.0, 3.0), (4.0, 5.0, 6.0)), TensorNotes("mask")),
            (TensorNotes("y", "scores", threshold=0.25, labels="labels.txt"),),
        ),
        Metadata("", "", (TensorNotes("x", content=Content.AUDIO, sample_rate=16000, channels=1),), ()),
    ],
)
def test_metadata_survives(metadata: Metadata) -> None:
    content = memoryview(file_with(metadata))
    assert read_metadata(content) == metadata
    assert read_block(content) == build_block(metadata)


def test_files_are_found_behind_the_model(tmp_path: Path) -> None:
    files = {"labels.txt": b"cat\ndog", "more.txt": bytes(1000)}
    metadata = Metadata("", "", (), ())
    (tmp_path / "model.tflite").write_bytes(file_with(metadata, build_archive(files)))
    assert read_associated_files(tmp_path / "model.tflite") == files
    assert read_metadata(memoryview((tmp_path / "model.tflite").read_bytes())) == metadata
    (tmp_path / "plain.tflite").write_bytes(file_with(metadata))
    assert read_associated_files(tmp_path / "plain.tflite") == {}


def test_an_archive_does_not_depend_on_the_time() -> None:
    content = build_archive({"labels.txt": b"cat"})
    assert content == build_archive({"labels.txt": b"cat"})
    assert zipfile.ZipFile(BytesIO(content)).read("labels.txt") == b"cat"
