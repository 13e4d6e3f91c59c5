"""Boxes beside anchors: by MediaPipe's sizes, by a file's metadata, and by nothing."""

import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import nnapi
from nnapi.cli import app
from nnapi.errors import Mistake
from nnapi.formats.tflite.metadata import Anchors
from nnapi.vision.families import find_family, view_outputs
from nnapi.vision.families.anchors import (
    DETECTORS,
    coding_from,
    decode,
    find_detector,
    is_raw,
)
from nnapi.vision.pictures import Pixels
from nnapi.vision.task import Task
from nnapi.vision.view import Hints

NUMBERS = {(128, 16): 896, (256, 16): 896, (192, 16): 2304, (128, 18): 896, (192, 18): 2016, (256, 18): 2944}
NUMBERS |= {(224, 12): 2254, (128, 12): 896}


@pytest.mark.parametrize("detector", DETECTORS[:-1])
def test_anchors_of_known_detectors(detector: object) -> None:
    known = next(each for each in DETECTORS if each is detector)
    coding = known.coding(known.side, known.side)
    count = NUMBERS[known.side, known.values]
    assert coding.anchors.shape == (count, 4)
    shapes = [(1, count, 1), (1, count, known.values)]
    assert find_detector((1, known.side, known.side, 3), shapes) == known
    assert find_detector((1, known.side + 1, known.side + 1, 3), shapes) is None


def test_order_of_anchors() -> None:
    """Row by row of cells, all anchors of a cell together."""
    anchors = DETECTORS[0].coding(128, 128).anchors
    first = 0.5 / 16
    assert anchors[:4].tolist() == [[first, first, 1, 1]] * 2 + [[3 * first, first, 1, 1]] * 2
    assert anchors[32].tolist() == [first, 3 * first, 1, 1]
    assert anchors[512:518].tolist() == [[0.5 / 8, 0.5 / 8, 1, 1]] * 6


def test_boxes_from_metadata() -> None:
    """By hand: the middle is moved by parts of the anchor, sizes are multiplied by exponentials; y comes first."""
    rows = ((0.5, 0.25, 0.5, 0.25), (0.5, 0.25, 0.5, 0.25), (0.2, 0.8, 0.1, 0.2))
    coding = coding_from(Anchors(rows, (10.0, 10.0, 5.0, 5.0), True, True))
    raw = np.array([[[1, 2, 0, 5 * np.log(2)], [1, 2, 0, 0], [0, 0, 0, 0]]], np.float32)
    scores = np.array([[[-9, 2], [-9, 1], [-9, -9]]], np.float32)
    for outputs in ([raw, scores], [scores, raw]):
        (box,) = decode(outputs, coding, 0.5)
        assert (box.number, round(box.score, 4)) == (1, 0.8808)
        np.testing.assert_allclose(box.bounds, (0.15, 0.1, 0.4, 1.1), atol=1e-6)  # middle (0.6, 0.275), 1.0 by 0.25


@pytest.mark.parametrize(
    ("shapes", "raw"),
    [
        ([(1, 9, 4), (1, 9, 3)], True),
        ([(1, 9, 1), (1, 9, 16)], True),
        ([(1, 9, 4), (1, 8, 3)], False),
        ([(1, 9, 4)], False),
        ([(1, 9, 3), (1, 9, 2)], False),
    ],
)
def test_what_is_beside_anchors(shapes: list[tuple[int, ...]], raw: bool) -> None:
    assert is_raw(shapes) == raw


def model_of(*shapes: tuple[int, ...]) -> nnapi.Model:
    model = nnapi.Model()
    for shape in ((1, 8, 8, 3), *shapes):
        model.add_operand(nnapi.tensor("float32", shape))
    model.inputs, model.outputs = (0,), tuple(range(1, len(shapes) + 1))
    return model


def test_in_words_with_the_thresholds_and_labels_of_the_file() -> None:
    outputs = [np.zeros((1, 2, 4), np.float32), np.array([[[0.6], [0.2]]], np.float32)]
    anchors = Anchors(((0.25, 0.5, 0.5, 0.5), (0.75, 0.5, 0.5, 0.5)), (1.0,) * 4, True, False)
    model = model_of((1, 2, 4), (1, 2, 1))
    assert view_outputs(model, outputs, Task.DETECTION, Hints(["cup"], None, anchors), None).words == "1 × cup"
    assert view_outputs(model, outputs, Task.DETECTION, Hints(["cup"], 0.1, anchors), None).words == "2 × cup"


def test_nobody_says_where_anchors_are() -> None:
    outputs = [np.zeros((1, 2, 4), np.float32), np.zeros((1, 2, 1), np.float32)]
    model = model_of((1, 2, 4), (1, 2, 1))
    with pytest.raises(Mistake, match=r"the boxes cannot be found: the outputs are beside anchors"):
        view_outputs(model, outputs, Task.DETECTION, Hints(), None)
    one = Anchors(((0.5, 0.5, 1.0, 1.0),), (1.0,) * 4, True, False)
    with pytest.raises(Mistake, match=re.escape("the metadata lists 1 anchors, the outputs have 2")):
        view_outputs(model, outputs, Task.DETECTION, Hints(None, None, one), None)


@pytest.mark.slow
@pytest.mark.shared
@pytest.mark.engine
def test_a_face(shared: Path, tmp_path: Path) -> None:
    """Grace Hopper's, where it is, with her eyes in it; LiteRT's own outputs give the same box."""
    interpreter = pytest.importorskip("ai_edge_litert.interpreter")
    file, photograph = shared / "models/blazeface_front_float.tflite", shared / "images/grace_hopper.bmp"
    result = CliRunner().invoke(app, ["run", str(file), str(photograph), "--picture", str(tmp_path / "face.png")])
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("grace_hopper.bmp: 1 × face  ")
    with Image.open(photograph) as opened, Image.open(tmp_path / "face.png") as drawn:
        assert drawn.size == opened.size
        small = np.asarray(opened.convert("RGB").resize((128, 128), Image.Resampling.BILINEAR))
    theirs = interpreter.Interpreter(str(file))
    theirs.allocate_tensors()
    given = (small.astype(np.float32) / 127.5 - 1)[None]
    theirs.set_tensor(theirs.get_input_details()[0]["index"], given)
    theirs.invoke()
    coding = DETECTORS[0].coding(128, 128)
    (wanted,) = decode([theirs.get_tensor(each["index"]) for each in theirs.get_output_details()], coding, 0.5)
    (found,) = decode(nnapi.compile(nnapi.load(file)).run(given), coding, 0.5)
    np.testing.assert_allclose(found.bounds, wanted.bounds, atol=1e-3)
    top, left, bottom, right = found.bounds
    np.testing.assert_allclose((top, left, bottom, right), (0.23, 0.34, 0.58, 0.69), atol=0.03)
    assert all(top < y < bottom for y, _ in found.points)
    (right_eye, left_eye) = found.points[:2]
    assert left < right_eye[1] < left_eye[1] < right


def test_the_slim_face_detector() -> None:
    """By hand: the first of three sizes on the first cell, moved by a tenth of the box and made as large as it is."""
    slim = DETECTORS[-1]
    coding = slim.coding(120, 160)
    assert coding.anchors.shape == (1118, 4)
    assert coding.anchors[0].tolist() == [4 / 160, 4 / 120, 10 / 160, 10 / 120]
    assert find_detector((1, 120, 160, 1), [(1, 1118, 4), (1, 1118, 2)]) == slim
    assert find_detector((1, 120, 160, 1), [(1, 1117, 4), (1, 1117, 2)]) is None
    raw, scores = np.zeros((1, 1118, 4), np.float32), np.zeros((1, 1118, 2), np.float32)
    scores[0, :, 0], scores[0, 300] = 1, (0.1, 0.9)
    raw[0, 300, 0] = 1.0
    (box,) = decode([raw, scores], coding, 0.5)
    x, y, width, height = coding.anchors[300]
    assert (box.number, round(box.score, 3)) == (0, 0.9)
    top, left, bottom, right = box.bounds
    np.testing.assert_allclose((left, right), (x + 0.1 * width - width / 2, x + 0.1 * width + width / 2), atol=1e-6)
    np.testing.assert_allclose((top, bottom), (y - height / 2, y + height / 2), atol=1e-6)


@pytest.mark.slow
@pytest.mark.shared
@pytest.mark.parametrize(
    ("network", "words"),
    [
        ("models-2/ssd_slim_120x160_int8", "4 × face"),
        ("models-2/blazeface_front_int8", "3 × face"),
        ("models/blazeface_front_f16", "3 × face"),
    ],
)
def test_faces_of_a_group(shared: Path, network: str, words: str) -> None:
    """Four people: two in front, two behind, of whom one is at the edge."""
    result = CliRunner().invoke(app, ["run", str(shared / f"{network}.tflite"), str(shared / "images/face.jpg")])
    assert result.stdout.startswith(f"face.jpg: {words}  ")


@pytest.mark.slow
@pytest.mark.shared
def test_a_person(shared: Path) -> None:
    file, photograph = shared / "models-2/blazepose_detection.tflite", shared / "images/grace_hopper.bmp"
    family = find_family(nnapi.load(file))
    assert family is not None
    assert family.pixels == Pixels.of_range(-1, 1)
    result = CliRunner().invoke(app, ["run", str(file), str(photograph)])
    assert result.stdout.startswith("grace_hopper.bmp: 1 × person  ")
