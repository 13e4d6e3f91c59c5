"""Key points from heat maps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from nnapi.cli import app
from nnapi.vision.families import see
from nnapi.vision.families.heat_maps import BODY, find_peaks
from nnapi.vision.task import Task
from nnapi.vision.view import Hints
from tests.vision.family_cases import model_of


def test_a_peak_is_in_the_middle_of_its_cell_and_leans_to_the_greater_neighbor() -> None:
    maps = np.zeros((4, 8, 2))
    maps[1, 2, 0], maps[1, 3, 0] = 0.9, 0.5
    maps[3, 7, 1] = 0.4
    first, second = find_peaks(maps, ["a", "b"])
    assert (first.y, first.x, first.score) == pytest.approx((1.5 / 4, 2.75 / 8, 0.9))
    assert (second.y, second.x, second.score) == pytest.approx((3.5 / 4, 7.5 / 8, 0.4))


def test_points_have_names() -> None:
    maps = np.zeros((1, 8, 8, len(BODY)), np.float32)
    maps[0, 0, 4, 0] = maps[0, 2, 4, 1] = 0.7
    model = model_of(("float32", maps.shape), names=("pose",))
    assert see(model, [maps], Task.POSE, Hints(), None).words == "2 of 14 key points: top of head, neck"


@pytest.mark.shared
@pytest.mark.parametrize("network", ["cpm_pose_float", "hourglass_pose_float"])
def test_a_portrait(shared: Path, tmp_path: Path, network: str) -> None:
    """Grace Hopper on a larger canvas, as these networks want people in whole: her neck and shoulders."""
    with Image.open(shared / "images/grace_hopper.bmp") as opened:
        canvas = Image.new("RGB", (2 * opened.width, 2 * opened.height), (127, 127, 127))
        canvas.paste(opened, (opened.width // 2, 0))
    canvas.save(tmp_path / "canvas.png")
    file = shared.parent / "shared" / "models-2" / f"{network}.tflite"
    result = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["run", str(file), str(tmp_path / "canvas.png")])
    assert "key points: top of head, neck, right shoulder" in result.stdout
    assert "blue before red, pixels 0 to 255 (usual for pose network with heat maps)" in result.stdout
    assert "guessed from the names of its tensors and the count of channels" in result.stdout
