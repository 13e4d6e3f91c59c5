"""Metadata of .tflite files."""

from pathlib import Path

import numpy as np
import pytest

from nnapi.errors import BadDataError
from nnapi.formats.tflite.metadata import Content, read_associated_file, read_metadata
from tests.formats.tflite.metadata_cases import append_files, block
from tests.tflite_writer import Graph, f32, write


def model_with(metadata: bytes | None) -> bytes:
    given, result = f32(1, 4, 4, 3), f32(1, 4, 4, 3)
    return write(Graph().operator("RELU", [given], [result]).between([given], [result]), metadata=metadata)


def test_what_a_block_says() -> None:
    data = block(mean=[1.0, 2.0, 3.0], std=[4.0], labels=[("fr.txt", "fr"), ("en.txt", "")], threshold=0.25)
    found = read_metadata(memoryview(model_with(data)))
    assert found
    assert (found.name, found.description) == ("ImageClassifier", "what it is for")
    (given,), (result,) = found.inputs, found.outputs
    assert (given.name, given.content, given.mean, given.std) == ("input", Content.IMAGE, (1.0, 2.0, 3.0), (4.0,))
    assert (result.labels, result.threshold, found.anchors) == ("en.txt", 0.25, None)


def test_sound() -> None:
    found = read_metadata(memoryview(model_with(block(content=4, rate=16000))))
    assert found
    assert (found.inputs[0].content, found.inputs[0].sample_rate, found.inputs[0].channels) == (Content.AUDIO, 16000, 1)


def test_anchors() -> None:
    rows = [(0.25, 0.5, 0.5, 1.0), (0.75, 0.5, 0.25, 0.125)]
    found = read_metadata(memoryview(model_with(block(anchors=rows))))
    assert found
    assert found.anchors
    assert (found.anchors.anchors, found.anchors.scales) == (tuple(rows), (1.0,) * 4)
    assert (found.anchors.has_exponent, found.anchors.has_sigmoid) == (True, True)


def test_nothing_is_said() -> None:
    assert read_metadata(memoryview(model_with(None))) is None


@pytest.mark.parametrize("data", [b"", b"short", b"\xff" * 64, block()[:40], b"\xff\xff\xff\x7fM001" + bytes(64)])
def test_damaged(data: bytes) -> None:
    with pytest.raises(BadDataError):
        read_metadata(memoryview(model_with(data)))


def test_random_damage_is_an_error_or_nothing() -> None:
    whole = block(mean=[1.0], std=[2.0], labels=[("a.txt", "")], threshold=0.5, anchors=[(0.5, 0.5, 1.0, 1.0)])
    generator = np.random.default_rng(3)
    for _ in range(200):
        data = np.frombuffer(whole, np.uint8).copy()
        data[generator.integers(8, len(data), 3)] = generator.integers(0, 256, 3)
        try:
            read_metadata(memoryview(model_with(data.tobytes())))
        except BadDataError:
            continue


def test_files_behind_the_model(tmp_path: Path) -> None:
    file = tmp_path / "model.tflite"
    file.write_bytes(append_files(model_with(block()), {"labels.txt": "cat\ndog\n"}))
    assert read_associated_file(file, "labels.txt") == b"cat\ndog\n"
    with pytest.raises(BadDataError, match=r"names other.txt, which is not in the file"):
        read_associated_file(file, "other.txt")
    file.write_bytes(model_with(block()))
    with pytest.raises(BadDataError, match=r"labels.txt, which it names, cannot be read: File is not a zip file"):
        read_associated_file(file, "labels.txt")


@pytest.mark.shared
def test_of_a_published_model(shared: Path) -> None:
    found = read_metadata(memoryview((shared / "models/mobilenet_v1_0.25_128_quant.tflite").read_bytes()))
    assert found
    assert (found.name, found.inputs[0].mean, found.inputs[0].std) == ("ImageClassifier", (127.5,), (127.5,))
    assert found.outputs[0].labels == "imagenet_labels.txt"
