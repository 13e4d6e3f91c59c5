"""Detectors with post-processing: boxes in words, drawn and as data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import nnapi
from nnapi.cli import app
from nnapi.vision.drawing import color_of, draw_boxes
from nnapi.vision.families import view_outputs
from nnapi.vision.families.post_processed import find_boxes
from nnapi.vision.task import Task
from nnapi.vision.view import Hints
from tests.vision.family_cases import model_of

BOXES = np.array([[[0.5, 0.25, 1, 0.75], [0, 0, 0.5, 0.5], [0, 0, 1, 1]]], np.float32)
CLASSES, SCORES = np.array([[1, 1, 0]], np.float32), np.array([[0.9, 0.5, 0.1]], np.float32)
COUNT = np.array([3], np.float32)


@pytest.mark.parametrize("order", [(BOXES, CLASSES, SCORES, COUNT), (SCORES, BOXES, COUNT, CLASSES)])
def test_boxes(order: tuple[np.ndarray, ...]) -> None:
    boxes = find_boxes(order, ["bus", "dog"])
    assert [(box.label, round(box.score, 3), box.bounds) for box in boxes] == [
        ("dog", 0.9, (0.5, 0.25, 1, 0.75)),
        ("dog", 0.5, (0, 0, 0.5, 0.5)),
    ]
    drawn = draw_boxes(Image.new("RGB", (100, 100)), boxes)
    assert drawn.getpixel((25, 75)) == drawn.getpixel((75, 75)) == color_of(1)
    assert drawn.getpixel((50, 75)) == (0, 0, 0)


def test_a_part_that_is_found_again_is_no_thing_of_its_own() -> None:
    whole, part, beside = [0, 0, 1, 0.5], [0.5, 0, 1.1, 0.5], [0, 0.2, 1, 0.7]
    boxes = np.array([[part, whole, beside, part]], np.float32)
    classes, scores = np.array([[1, 1, 1, 2]], np.float32), np.array([[0.5, 0.9, 0.6, 0.45]], np.float32)
    found = find_boxes([boxes, classes, scores, np.array([4], np.float32)], None)
    assert [(box.number, round(box.score, 2)) for box in found] == [(1, 0.9), (1, 0.6), (2, 0.45)]


@pytest.mark.parametrize(
    ("labels", "scores", "words"),
    [
        (["bus", "dog"], [0.9, 0.5, 0.6], "2 × dog, 1 × bus"),
        (["person", "bus"], [0.9, 0.5, 0.6], "2 × bus, 1 × person"),
        (None, [0.9, 0.1, 0.6], "1 × class 1, 1 × class 0"),
        (["bus"], [0.1, 0.1, 0.1], "nothing (most likely: class 1, score 0.10; a lower --score shows it)"),
    ],
)
def test_boxes_in_words(labels: list[str] | None, scores: list[float], words: str) -> None:
    outputs = [BOXES, CLASSES, np.array([scores], np.float32), COUNT]
    model = model_of(*(("float32", array.shape) for array in outputs))
    assert view_outputs(model, outputs, Task.DETECTION, Hints(labels), None).words == words


def test_score_and_data() -> None:
    model = model_of(*(("float32", array.shape) for array in (BOXES, CLASSES, SCORES, COUNT)))
    found = view_outputs(model, [BOXES, CLASSES, SCORES, COUNT], Task.DETECTION, Hints(["bus", "dog"], 0.05), None)
    assert found.words == "2 × dog, 1 × bus"
    assert [(box["label"], box["place"]) for box in found.data["boxes"]][:1] == [("dog", [0.5, 0.25, 1, 0.75])]


@pytest.mark.slow
@pytest.mark.shared
@pytest.mark.engine
def test_a_photograph_of_cats_and_dogs(shared: Path, tmp_path: Path) -> None:
    """The boxes are LiteRT's own, and what is in the picture is said and drawn."""
    interpreter = pytest.importorskip("ai_edge_litert.interpreter")
    file, photograph = shared / "models/ssd_mobilenet_v1_coco_quant.tflite", shared / "images/cats_and_dogs.jpg"
    words = ["run", str(file), str(photograph)]
    result = CliRunner().invoke(app, [*words, "--picture", str(tmp_path / "seen.png")])
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("cats_and_dogs.jpg: 3 × cat, 1 × dog  ")
    with Image.open(tmp_path / "seen.png") as seen, Image.open(photograph) as opened:
        assert seen.size == opened.size
        small = opened.convert("RGB").resize((300, 300), Image.Resampling.BILINEAR)
    theirs = interpreter.Interpreter(str(file))
    theirs.allocate_tensors()
    theirs.set_tensor(theirs.get_input_details()[0]["index"], np.asarray(small)[None])
    theirs.invoke()
    wanted = find_boxes([theirs.get_tensor(each["index"]) for each in theirs.get_output_details()], None)
    found = find_boxes(nnapi.compile(nnapi.load(file)).run(np.asarray(small)[None]), None)
    assert [box.label for box in found] == [box.label for box in wanted]
    np.testing.assert_allclose([b.bounds for b in found], [b.bounds for b in wanted], atol=0.02)
