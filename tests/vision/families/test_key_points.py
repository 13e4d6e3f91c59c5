"""MoveNet's key points."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from nnapi.cli import app
from nnapi.vision.drawing import color_of
from nnapi.vision.families import see
from nnapi.vision.families.key_points import POINTS
from nnapi.vision.task import Task
from nnapi.vision.view import Hints
from tests.vision.family_cases import model_of


def test_key_points() -> None:
    points = np.zeros((1, 1, len(POINTS), 3), np.float32)
    points[0, 0, 5], points[0, 0, 6] = (0.5, 0.2, 0.9), (0.5, 0.8, 0.9)
    model = model_of(("float32", points.shape))
    found = see(model, [points], Task.POSE, Hints(), Image.new("RGB", (100, 100)))
    assert found.words == "2 of 17 key points: left shoulder, right shoulder"
    assert found.picture is not None
    assert found.picture.getpixel((20, 50)) == (255, 255, 255)
    assert found.picture.getpixel((50, 50)) == color_of(1)
    (person,) = found.data["people"]
    assert person["points"][5] == pytest.approx({"name": "left shoulder", "y": 0.5, "x": 0.2, "score": 0.9})
    assert see(model, [points * 0], Task.POSE, Hints(), None).words == "nobody"
    assert see(model, [points], Task.POSE, Hints(None, 0.95), None).words == "nobody"


@pytest.mark.shared
def test_shoulders_of_a_portrait(shared: Path) -> None:
    file, photograph = shared / "models/movenet_lightning_ptq.tflite", shared / "images/grace_hopper.bmp"
    result = CliRunner().invoke(app, ["run", str(file), str(photograph), "--json"])
    ((person,),) = (run["people"] for run in json.loads(result.stdout)["runs"])
    found = {point["name"]: point for point in person["points"]}
    left, right = found["left shoulder"], found["right shoulder"]
    assert (left["x"], left["y"]) == pytest.approx((0.87, 0.71), abs=0.08)
    assert (right["x"], right["y"]) == pytest.approx((0.16, 0.71), abs=0.08)
