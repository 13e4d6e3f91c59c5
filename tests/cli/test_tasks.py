"""What is seen in a run: boxes, masks, key points, pictures, in words and drawn."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import nnapi
from nnapi.cli import app
from nnapi.cli.failure import Mistake
from nnapi.cli.tasks import (
    DEPTHS,
    POINTS,
    Hints,
    Task,
    View,
    colour_of,
    draw_boxes,
    draw_classes,
    draw_points,
    find_boxes,
    find_task,
    view,
)

BOXES = np.array([[[0.5, 0.25, 1, 0.75], [0, 0, 0.5, 0.5], [0, 0, 1, 1]]], np.float32)
CLASSES, SCORES = np.array([[1, 1, 0]], np.float32), np.array([[0.9, 0.5, 0.1]], np.float32)
COUNT = np.array([3], np.float32)


def model_of(*outputs: tuple[str, tuple[int, ...]]) -> nnapi.Model:
    """A model without operations between a picture and outputs of those types."""
    model = nnapi.Model()
    model.add_operand(nnapi.tensor("float32", (1, 8, 8, 3)))
    for dtype, dimensions in outputs:
        model.add_operand(nnapi.tensor(dtype, dimensions))
    model.inputs, model.outputs = (0,), tuple(range(1, len(outputs) + 1))
    return model


@pytest.mark.parametrize(
    ("outputs", "task"),
    [
        ([("float32", (1, 3, 4)), ("float32", (1, 3)), ("float32", (1, 3)), ("float32", (1,))], Task.DETECTION),
        ([("float32", (1, 3)), ("float32", (1, 3, 4)), ("float32", (1,)), ("float32", (1, 3))], Task.DETECTION),
        ([("int32", (1, 8, 8))], Task.SEGMENTATION),
        ([("float32", (1, 8, 8, 21))], Task.SEGMENTATION),
        ([("float32", (1, 16, 16, 3))], Task.IMAGE),
        ([("float32", (1, 8, 8))], Task.IMAGE),
        ([("float32", (1, 1, 17, 3))], Task.POSE),
        ([("float32", (1, 1001))], None),
        ([("float32", (1, 1, 1, 1001))], None),
        ([("float32", (1, 896, 16)), ("float32", (1, 896, 1))], None),
    ],
)
def test_tasks_are_recognised(outputs: list[tuple[str, tuple[int, ...]]], task: Task | None) -> None:
    assert find_task(model_of(*outputs)) == task


@pytest.mark.parametrize("order", [(BOXES, CLASSES, SCORES, COUNT), (SCORES, BOXES, COUNT, CLASSES)])
def test_boxes(order: tuple[np.ndarray, ...]) -> None:
    boxes = find_boxes(order, ["bus", "dog"])
    assert [(box.label, round(box.score, 3), box.place) for box in boxes] == [
        ("dog", 0.9, (0.5, 0.25, 1, 0.75)),
        ("dog", 0.5, (0, 0, 0.5, 0.5)),
    ]
    drawn = draw_boxes(Image.new("RGB", (100, 100)), boxes)
    assert drawn.getpixel((25, 75)) == drawn.getpixel((75, 75)) == colour_of(1)
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
        (["bus", "dog"], [0.9, 0.5, 0.6], "2 dogs, 1 bus"),
        (["person", "bus"], [0.9, 0.5, 0.6], "2 buses, 1 person"),
        (None, [0.9, 0.1, 0.6], "1 class 1, 1 class 0"),
        (["bus"], [0.1, 0.1, 0.1], "nothing"),
    ],
)
def test_boxes_in_words(labels: list[str] | None, scores: list[float], words: str) -> None:
    outputs = [BOXES, CLASSES, np.array([scores], np.float32), COUNT]
    model = model_of(*(("float32", array.shape) for array in outputs))
    assert view(Task.DETECTION, model, outputs, Hints(labels), None).words == words


def test_masks() -> None:
    classes = np.zeros((1, 8, 8), np.int32)
    classes[0, :4] = 2
    model = model_of(("int32", (1, 8, 8)))
    seen = view(
        Task.SEGMENTATION, model, [classes], Hints(["background", "cat", "bird"]), Image.new("RGB", (16, 16), "white")
    )
    assert seen.words == "bird 50 %"
    assert seen.picture is not None
    assert seen.picture.getpixel((3, 12)) == (255, 255, 255)
    assert seen.picture.getpixel((3, 3)) != (255, 255, 255)
    assert draw_classes(None, classes[0]).getpixel((3, 3)) == colour_of(2)
    scores = np.moveaxis(np.stack([classes != 2, classes == 1, classes == 2]), 0, -1).astype(np.float32)
    model = model_of(("float32", (1, 8, 8, 3)))
    assert view(Task.SEGMENTATION, model, [scores], Hints(), None).words == "class 2 50 %"
    nothing = view(Task.SEGMENTATION, model_of(("int32", (1, 8, 8))), [classes * 0], Hints(), None)
    assert nothing.words == "only background"


def test_key_points() -> None:
    points = np.zeros((1, 1, len(POINTS), 3), np.float32)
    points[0, 0, 5], points[0, 0, 6] = (0.5, 0.2, 0.9), (0.5, 0.8, 0.9)
    seen = view(Task.POSE, model_of(("float32", points.shape)), [points], Hints(), None)
    assert seen.words == "2 of 17 key points: left shoulder, right shoulder"
    drawn = draw_points(Image.new("RGB", (100, 100)), points.reshape(1, -1, 3))
    assert drawn.getpixel((20, 50)) == (255, 255, 255)
    assert drawn.getpixel((50, 50)) == colour_of(1)
    assert view(Task.POSE, model_of(("float32", points.shape)), [points * 0], Hints(), None).words == "nobody"


def test_pictures_that_come_out() -> None:
    numbers = np.linspace(0, 1, 16 * 16 * 3, dtype=np.float32).reshape(1, 16, 16, 3)
    seen = view(Task.IMAGE, model_of(("float32", numbers.shape)), [numbers], Hints(), None)
    assert seen.words == "a picture of 16×16"
    assert seen.picture is not None
    assert (seen.picture.getpixel((0, 0)), seen.picture.getpixel((15, 15))) == ((0, 0, 1), (254, 255, 255))


def test_depths() -> None:
    depths = np.linspace(2, 6, 64, dtype=np.float32).reshape(1, 8, 8)
    seen = view(Task.DEPTH, model_of(("float32", depths.shape)), [depths], Hints(), None)
    assert seen.words == "8×8 depths from 2 to 6"
    assert seen.picture is not None
    assert (seen.picture.getpixel((0, 0)), seen.picture.getpixel((7, 7))) == (DEPTHS[0], DEPTHS[-1])


def test_embeddings() -> None:
    vector = np.array([[[[3.0, 4.0]]]], np.float32)
    seen = view(Task.EMBEDDING, model_of(("float32", vector.shape)), [vector], Hints(), None)
    assert seen == View("2 dimensions, norm 5", None)


@pytest.mark.parametrize("task", [Task.DETECTION, Task.POSE, Task.SEGMENTATION, Task.IMAGE, Task.DEPTH])
def test_outputs_that_are_not_for_the_task(task: Task) -> None:
    with pytest.raises(Mistake, match=re.escape(f"--as {task} does not fit outputs of shape [5]")):
        view(task, model_of(("float32", (5,))), [np.zeros(5, np.float32)], Hints(), None)


@pytest.mark.shared
@pytest.mark.engine
def test_a_photograph_of_cats_and_dogs(shared: Path, tmp_path: Path) -> None:
    """The boxes are LiteRT's own, and what is in the picture is said and drawn."""
    interpreter = pytest.importorskip("ai_edge_litert.interpreter")
    file, photograph = shared / "models/ssd_mobilenet_v1_coco_quant.tflite", shared / "images/cats_and_dogs.jpg"
    words = ["run", str(file), str(photograph), "--labels", str(shared / "images/coco_labels.txt")]
    result = CliRunner().invoke(app, [*words, "--picture", str(tmp_path / "seen.png")])
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("cats_and_dogs.jpg: 3 cats, 1 dog  ")
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
    np.testing.assert_allclose([b.place for b in found], [b.place for b in wanted], atol=0.02)


def test_a_picture_that_cannot_be_written(tmp_path: Path) -> None:
    digits = Path(__file__).parents[2] / "examples/digits/digits_float.tflite"
    result = CliRunner().invoke(app, ["run", str(digits), "--picture", str(tmp_path / "seen.png")])
    assert (result.exit_code, result.stderr) == (
        1,
        f"nnapi: {tmp_path}/seen.png is not written: there is no picture of what the model says\n",
    )
    assert result.stdout.startswith("random input")
