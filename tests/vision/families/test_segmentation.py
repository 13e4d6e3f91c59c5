"""Segmentation: classes, one-channel masks, hair."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from nnapi.cli import app
from nnapi.codes import OperationCode
from nnapi.vision.drawing import color_of, draw_classes
from nnapi.vision.families import view_outputs
from nnapi.vision.families.segmentation import to_runs
from nnapi.vision.task import Task
from nnapi.vision.view import Hints
from tests.vision.family_cases import model_of, model_with_last


def test_masks_of_classes() -> None:
    classes = np.zeros((1, 8, 8), np.int32)
    classes[0, :4] = 2
    model = model_of(("int32", (1, 8, 8)))
    hints = Hints(["background", "cat", "bird"])
    found = view_outputs(model, [classes], Task.SEGMENTATION, hints, Image.new("RGB", (16, 16), "white"))
    assert found.words == "bird 50 %"
    assert found.picture is not None
    assert found.picture.getpixel((3, 12)) == (255, 255, 255)
    legend = found.picture.crop((0, 16, *found.picture.size)).getcolors(100000)
    assert color_of(2) in {color for _, color in legend}
    assert found.picture.getpixel((3, 3)) != (255, 255, 255)
    assert found.data["mask"] == {"height": 8, "width": 8, "runs": [[2, 32], [0, 32]]}
    assert found.data["areas"][0] == {"index": 2, "label": "bird", "share": 0.5}
    assert draw_classes(None, classes[0]).getpixel((3, 3)) == color_of(2)
    scores = np.moveaxis(np.stack([classes != 2, classes == 1, classes == 2]), 0, -1).astype(np.float32)
    many = model_of(("float32", (1, 8, 8, 3)))
    assert view_outputs(many, [scores], Task.SEGMENTATION, Hints(), None).words == "class 2 50 %"
    assert view_outputs(model, [classes * 0], Task.SEGMENTATION, Hints(), None).words == "only background"


def test_without_a_background_the_first_class_counts() -> None:
    classes = np.zeros((1, 8, 8), np.int32)
    found = view_outputs(model_of(("int32", (1, 8, 8))), [classes], Task.SEGMENTATION, Hints(["road", "sky"]), None)
    assert found.words == "road 100 %"


def test_runs_of_pixels() -> None:
    assert to_runs(np.array([[1, 1], [1, 0]])) == [[1, 3], [0, 1]]


def test_a_mask_of_one_channel_is_compared_with_a_half() -> None:
    mask = np.zeros((1, 8, 8, 1), np.float32)
    mask[0, :2], mask[0, 2:4] = 0.9, 0.4
    model = model_with_last(OperationCode.LOGISTIC, mask.shape)
    assert view_outputs(model, [mask], Task.SEGMENTATION, Hints(), None).words == "foreground 25 %"
    assert view_outputs(model, [mask], Task.SEGMENTATION, Hints(["person"], 0.3), None).words == "person 50 %"


@pytest.mark.slow
@pytest.mark.shared
@pytest.mark.parametrize(
    ("network", "picture", "label", "inside", "outside", "share"),
    [
        ("models-2/selfie_segmenter_f16", "face.jpg", "selfie", (0.55, 0.8), (0.05, 0.2), (0.5, 0.65)),
        ("models-2/hair_segmentation_float", "face.jpg", "hair", (0.56, 0.13), (0.6, 0.85), (0.01, 0.05)),
        ("models/deeplabv3_257_float", "bird_segmentation.bmp", "bird", (0.4, 0.4), (0.8, 0.2), (0.15, 0.3)),
    ],
)
def test_photographs(
    shared: Path,
    network: str,
    picture: str,
    label: str,
    inside: tuple[float, float],
    outside: tuple[float, float],
    share: tuple[float, float],
) -> None:
    """A point (x, y) that belongs to the thing, one that does not (of hair: the shirt), and about how much does."""
    result = CliRunner().invoke(
        app, ["run", str(shared / f"{network}.tflite"), str(shared / "images" / picture), "--json"]
    )
    (run,) = json.loads(result.stdout)["runs"]
    assert run["seen"].startswith(label)
    mask = run["mask"]
    pixels = np.concatenate([np.full(count, number) for number, count in mask["runs"]])
    pixels = pixels.reshape(mask["height"], mask["width"])
    at = [pixels[int(y * mask["height"]), int(x * mask["width"])] for x, y in (inside, outside)]
    assert (at[0] > 0, at[1]) == (True, 0)
    assert share[0] < (pixels > 0).mean() < share[1]
