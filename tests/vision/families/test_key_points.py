"""Key points: MoveNet's, and those of heat maps."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from nnapi.cli import app
from nnapi.vision.drawing import color_of
from nnapi.vision.families import view_outputs
from nnapi.vision.families.key_points import BODY, COCO, LEAST_HEAT, find_peaks
from nnapi.vision.task import Task
from nnapi.vision.view import Hints
from tests.vision.family_cases import model_of


def test_key_points() -> None:
    points = np.zeros((1, 1, len(COCO.points), 3), np.float32)
    points[0, 0, 5], points[0, 0, 6] = (0.5, 0.2, 0.9), (0.5, 0.8, 0.9)
    model = model_of(("float32", points.shape))
    found = view_outputs(model, [points], Task.POSE, Hints(), Image.new("RGB", (100, 100)))
    assert found.words == "2 of 17 key points: left shoulder, right shoulder"
    assert found.picture is not None
    assert found.picture.getpixel((20, 50)) == (255, 255, 255)
    assert found.picture.getpixel((50, 50)) == color_of(1)
    (person,) = found.data["people"]
    assert person["points"][5] == pytest.approx({"name": "left shoulder", "y": 0.5, "x": 0.2, "score": 0.9})
    assert view_outputs(model, [points * 0], Task.POSE, Hints(), None).words.startswith("nobody")
    nobody = "nobody: the best point, left shoulder, scores 0.9; the threshold is 0.95"
    assert view_outputs(model, [points], Task.POSE, Hints(None, 0.95), None).words == nobody


def test_key_points_are_those_of_the_picture_between_the_bars() -> None:
    points = np.full((1, 1, len(COCO.points), 3), (0.5, 0.75, 0.9), np.float32)
    model = model_of(("float32", points.shape), picture=(1, 64, 64, 3))
    found = view_outputs(model, [points], Task.POSE, Hints(), Image.new("RGB", (50, 100)))
    (person,) = found.data["people"]
    assert (person["points"][0]["y"], person["points"][0]["x"]) == (0.5, 1.0)


@pytest.mark.slow
@pytest.mark.shared
def test_shoulders_of_a_portrait(shared: Path) -> None:
    file, photograph = shared / "models/movenet_lightning_ptq.tflite", shared / "images/grace_hopper.bmp"
    result = CliRunner().invoke(app, ["run", str(file), str(photograph), "--json"])
    ((person,),) = (run["people"] for run in json.loads(result.stdout)["runs"])
    found = {point["name"]: point for point in person["points"]}
    left, right = found["left shoulder"], found["right shoulder"]
    assert (left["x"], left["y"]) == pytest.approx((0.87, 0.71), abs=0.08)
    assert (right["x"], right["y"]) == pytest.approx((0.16, 0.71), abs=0.08)


def test_a_peak_is_in_the_middle_of_its_cell_and_leans_to_the_greater_neighbor() -> None:
    maps = np.zeros((4, 8, 2))
    maps[1, 2, 0], maps[1, 3, 0] = 0.9, 0.5
    maps[3, 7, 1] = 0.4
    first, second = find_peaks(maps, ["a", "b"])
    assert (first.y, first.x, first.score) == pytest.approx((1.5 / 4, 2.75 / 8, 0.9))
    assert (second.y, second.x, second.score) == pytest.approx((3.5 / 4, 7.5 / 8, 0.4))


def test_points_have_names() -> None:
    maps = np.zeros((1, 8, 8, len(BODY.points)), np.float32)
    maps[0, 0, 4, 0] = maps[0, 2, 4, 1] = 0.7
    model = model_of(("float32", maps.shape), names=("pose",))
    assert view_outputs(model, [maps], Task.POSE, Hints(), None).words == "2 of 14 key points: top of head, neck"


@pytest.mark.slow
@pytest.mark.shared
@pytest.mark.parametrize("network", ["cpm_pose_float", "hourglass_pose_float"])
def test_a_portrait(shared: Path, network: str) -> None:
    """Head, neck and shoulders are where they are; the networks know people in whole, so the picture gets bars."""
    file, photograph = shared / f"models-2/{network}.tflite", shared / "images/grace_hopper.bmp"
    result = CliRunner().invoke(app, ["run", str(file), str(photograph), "--json"])
    found = json.loads(result.stdout)
    ((person,),) = (run["people"] for run in found["runs"])
    where = {point["name"]: (point["x"], point["y"]) for point in person["points"] if point["score"] >= LEAST_HEAT}
    assert where["top of head"] == pytest.approx((0.52, 0.17), abs=0.08)
    assert where["neck"] == pytest.approx((0.52, 0.6), abs=0.08)
    assert where["right shoulder"] == pytest.approx((0.19, 0.7), abs=0.1)
    assert where["left shoulder"] == pytest.approx((0.9, 0.7), abs=0.1)
    assert "within 192×192, blue before red, pixels 0 to 255" in found["runs"][0]["inputs"][0]["done"]
    assert "guessed from the names of its tensors and the number of channels" in found["notes"][0]


def test_a_point_in_the_bars_is_nobodys() -> None:
    maps = np.zeros((1, 10, 10, len(BODY.points)), np.float32)
    maps[0, 5, 5, 1] = maps[0, 0, 5, 2] = 0.7
    model = model_of(("float32", maps.shape), picture=(1, 100, 100, 3), names=("pose",))
    found = view_outputs(model, [maps], Task.POSE, Hints(), Image.new("RGB", (50, 50)))
    assert found.words == "1 of 14 key points: neck"
    (person,) = found.data["people"]
    assert (person["points"][1]["y"], person["points"][1]["x"]) == pytest.approx((7 / 12, 7 / 12))
