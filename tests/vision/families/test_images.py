"""Pictures and depths that come out."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import nnapi
from nnapi.vision.drawing import DEPTHS
from nnapi.vision.families import view_outputs
from nnapi.vision.families.images import find_limits
from nnapi.vision.task import Task
from nnapi.vision.view import Hints
from tests.vision.family_cases import model_of
from tests.warm_python import warm_python


def test_pictures_that_come_out() -> None:
    numbers = np.linspace(0, 1, 16 * 16 * 3, dtype=np.float32).reshape(1, 16, 16, 3)
    found = view_outputs(model_of(("float32", numbers.shape)), [numbers], Task.IMAGE, Hints(), None)
    assert found.words == "a picture of 16×16"
    assert found.picture is not None
    assert (found.picture.getpixel((0, 0)), found.picture.getpixel((15, 15))) == ((0, 0, 1), (254, 255, 255))


def test_the_shape_of_the_picture_is_kept() -> None:
    """A portrait within a square: what comes out is cropped to it."""
    numbers = np.zeros((1, 16, 16, 3), np.float32)
    found = view_outputs(
        model_of(("float32", numbers.shape)), [numbers], Task.IMAGE, Hints(), Image.new("RGB", (10, 20))
    )
    assert found.words == "a picture of 8×16"


def test_depths() -> None:
    depths = np.linspace(2, 6, 64, dtype=np.float32).reshape(1, 8, 8)
    found = view_outputs(model_of(("float32", depths.shape)), [depths], Task.DEPTH, Hints(), None)
    assert found.words == "8×8 depths from 2 to 6"
    assert found.picture is not None
    assert (found.picture.getpixel((0, 0)), found.picture.getpixel((7, 7))) == (DEPTHS[0], DEPTHS[-1])
    assert (found.data["depths"][0][0], found.data["depths"][7][7]) == (2, 6)


@pytest.mark.slow
@pytest.mark.shared
@pytest.mark.engine
def test_a_portrait_enlarged(shared: Path, tmp_path: Path) -> None:
    """EDSR: the picture that comes out is the one that went in, at twice the size that fits."""
    pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed, and the reference takes half a minute")
    file, photograph = shared / "models/edsr_f32b5_float.tflite", shared / "images/grace_hopper.bmp"
    assert find_limits(nnapi.load(file)) == (0, 255)
    words = ["run", str(file), str(photograph), "-d", "xnnpack-cpu", "--picture", str(tmp_path / "large.png")]
    there = os.environ | {"COLUMNS": "200", "DEBUG_NN_CPUONLY": "0"}
    command = [warm_python(), "-m", "nnapi", *words]
    result = subprocess.run(command, env=there, capture_output=True, text=True, check=False)
    assert "pixels 0 to 255 (guessed: the output picture has this range)" in result.stdout
    with Image.open(tmp_path / "large.png") as large, Image.open(photograph) as opened:
        assert large.size == (922, 1080)
        small = np.asarray(large.resize((64, 75)).convert("RGB"), np.float64)
        wanted = np.asarray(opened.resize((64, 75)).convert("RGB"), np.float64)
    assert abs(small - wanted).mean() < 6
