"""MediaPipe's landmarks: on outputs written by hand, and on a face."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from nnapi.cli import app
from nnapi.printable import with_article
from nnapi.vision.families import find_family, view_outputs
from nnapi.vision.families.landmarks import KINDS
from nnapi.vision.task import Task
from nnapi.vision.view import Hints
from tests.vision.family_cases import model_of

F = "float32"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.thing}-{kind.side}")
def test_each_kind_is_recognized(kind: object) -> None:
    known = next(each for each in KINDS if each is kind)
    outputs = [(F, (1, size)) for size in known.sizes] + ([(F, (1, 1))] if known.has_score else [])
    found = find_family(model_of(*outputs, picture=(1, known.side, known.side, 3)))
    assert found is not None
    assert found.name == f"MediaPipe's landmarks of {with_article(known.thing)}"
    other = find_family(model_of(*outputs, picture=(1, known.side + 1, known.side + 1, 3)))
    assert other is None


def test_a_hand() -> None:
    rows = np.zeros((1, 63), np.float32)
    rows[0, :3] = 128, 64, 5  # the wrist: x, y, z in pixels of the input
    model = model_of((F, (1, 63)), (F, (1, 1)), picture=(1, 256, 256, 3))
    there, absent = np.array([[3.0]], np.float32), np.array([[-3.0]], np.float32)
    found = view_outputs(model, [rows, there], Task.LANDMARKS, Hints(), Image.new("RGB", (100, 100)))
    assert found.words == "hand (95 %), 21 landmarks"
    assert found.data["landmarks"][0] == {"name": "wrist", "y": 0.25, "x": 0.5, "score": 1.0}
    assert found.picture is not None
    assert found.picture.getpixel((50, 25)) == (255, 255, 255)
    found = view_outputs(model, [rows, absent], Task.LANDMARKS, Hints(), Image.new("RGB", (100, 100)))
    assert found.words.startswith("no hand (5 %)")
    assert found.data["landmarks"] == []
    assert view_outputs(model, [rows, absent], Task.LANDMARKS, Hints(None, 0.01), None).words.startswith("hand (5 %)")


@pytest.mark.slow
@pytest.mark.shared
def test_a_face(shared: Path, tmp_path: Path) -> None:
    """Grace Hopper's face alone: the left eye's corner, the chin and the tip of the nose are where they are."""
    with Image.open(shared / "images/grace_hopper.bmp") as opened:
        opened.crop((130, 90, 400, 370)).save(tmp_path / "face.png")
    file = shared / "models-2/face_landmark_float.tflite"
    result = CliRunner().invoke(app, ["run", str(file), str(tmp_path / "face.png"), "--json"])
    (run,) = json.loads(result.stdout)["runs"]
    assert run["seen"] == "face (100 %), 468 landmarks"
    places = [(point["x"], point["y"]) for point in run["landmarks"]]
    nose, chin, right_eye, left_eye = (places[number] for number in (1, 152, 33, 263))
    assert chin[1] > nose[1] > right_eye[1]
    assert right_eye[0] < nose[0] < left_eye[0]


@pytest.mark.slow
@pytest.mark.shared
def test_a_person_with_the_hips_in_the_middle(shared: Path, tmp_path: Path) -> None:
    """Grace Hopper's portrait in the upper half of a larger picture: her hips are at its lower edge."""
    with Image.open(shared / "images/grace_hopper.bmp") as opened:
        padded = Image.new("RGB", (2 * opened.height, 2 * opened.height))
        padded.paste(opened, (opened.height - opened.width // 2, 0))
    padded.save(tmp_path / "person.png")
    file = shared / "models-2/blazepose_landmark_lite_f16.tflite"
    result = CliRunner().invoke(app, ["run", str(file), str(tmp_path / "person.png"), "--json"])
    found = json.loads(result.stdout)
    where = {point["name"]: (point["x"], point["y"]) for point in found["runs"][0]["landmarks"]}
    assert where["nose"] == pytest.approx((0.5, 0.2), abs=0.03)
    assert where["left shoulder"] == pytest.approx((0.63, 0.31), abs=0.05)
    assert where["right shoulder"] == pytest.approx((0.37, 0.31), abs=0.05)
    assert "the hips in the middle" in found["notes"][0]
