"""Events over time: where they begin and end, in words and drawn; and whole, from a recording."""

import json
import wave
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from nnapi.cli import app
from nnapi.cli.sound_events import LABEL, LEAST, ROW, SoundEvent, describe_events, draw_events, find_events
from tests.formats.tflite.metadata_cases import append_files, block
from tests.tflite_writer import Graph, const, f32, write

SHARES = np.array([[0.9, 0.1], [0.8, 0.4], [0.1, 0.6], [0.7, 0.2]])


def test_windows_beside_each_other_are_one_event() -> None:
    found = find_events(SHARES, 0.5, 1.0, ["dog", "cat"], LEAST)
    assert found == [
        SoundEvent(0, "dog", 0.0, 1.5, 0.9),
        SoundEvent(1, "cat", 0.5, 2.0, 0.6),
        SoundEvent(0, "dog", 1.5, 2.5, 0.7),
    ]
    assert describe_events(found[:2]) == "dog 0.0–1.5 s, cat 0.5–2.0 s"
    assert find_events(SHARES, 0.5, 1.0, ["dog", "cat"], 0.85) == [SoundEvent(0, "dog", 0.0, 1.0, 0.9)]
    assert describe_events([]) == "nothing"


def test_drawn_over_seconds() -> None:
    drawn = draw_events(np.array([[0.0, 0.2], [1.0, 0.0]]), 1.0, 1.0, ["a dog with a very long name indeed", "cat"])
    assert drawn.getpixel((LABEL + 100, ROW // 2)) == (255, 255, 255)
    assert drawn.getpixel((LABEL + 400, ROW // 2)) == (0, 0, 255)
    assert drawn.getpixel((LABEL + 100, ROW + ROW // 2)) == (204, 204, 255)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Tells whether the first or the second half of 8,000 samples is higher."""
    given, halves, means, result = f32(1, 8000), f32(1, 2, 4000), f32(1, 2), f32(1, 2)
    graph = Graph().operator("RESHAPE", [given, const([1, 2, 4000])], [halves])
    graph.operator("MEAN", [halves, const([2])], [means], "ReducerOptions", KeepDims=False)
    graph.operator("SOFTMAX", [means], [result], "SoftmaxOptions", Beta=20.0)
    data = block(content=4, rate=8000, labels=[("labels.txt", "")], threshold=0.9)
    content = write(graph.between([given], [result]), metadata=data)
    (tmp_path / "model.tflite").write_bytes(append_files(content, {"labels.txt": "falling\nrising\n"}))
    return tmp_path / "model.tflite"


def record(file: Path, rate: int, samples: np.ndarray) -> Path:
    with wave.open(str(file), "wb") as opened:
        opened.setnchannels(1)
        opened.setsampwidth(2)
        opened.setframerate(rate)
        opened.writeframes((samples * 32767).astype("<i2").tobytes())
    return file


@pytest.mark.parametrize("rate", [8000, 16000])
def test_a_recording(model: Path, tmp_path: Path, rate: int) -> None:
    """Silence, a second and a half from 1 s on, silence: it rises in the second window, and falls in the fifth."""
    samples = np.zeros(4 * rate, np.float32)
    samples[rate : 5 * rate // 2] = 0.8
    sound = record(tmp_path / "sound.wav", rate, samples)
    words = ["run", str(model), str(sound)]
    result = CliRunner().invoke(app, [*words, "--picture", str(tmp_path / "seen.png")])
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("sound.wav: rising 0.5–1.5 s, falling 2.0–3.0 s  ")
    assert "7 windows of 1 s" in result.stdout
    assert (tmp_path / "seen.png").stat().st_size
    (run,) = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)["runs"]
    assert [(each["label"], each["from"], each["to"]) for each in run["events"]] == [
        ("rising", 0.5, 1.5),
        ("falling", 2.0, 3.0),
    ]
    assert run["outputs"][0]["shape"] == [7, 2]


def test_a_short_recording_is_one_window(model: Path, tmp_path: Path) -> None:
    sound = record(tmp_path / "short.wav", 8000, np.full(1000, 0.8, np.float32))
    result = CliRunner().invoke(app, ["run", str(model), str(sound)])
    assert result.stdout.startswith("short.wav: falling 0.0–1.0 s  ")
