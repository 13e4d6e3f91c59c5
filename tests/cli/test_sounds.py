"""Recordings as inputs."""

import struct
import wave
from pathlib import Path

import numpy as np
import pytest

import nnapi
from nnapi.cli.sounds import _resample, read_sound, read_windows
from nnapi.errors import Mistake
from nnapi.model.operand import Array


def recorded(folder: Path, data: bytes, width: int = 2, channels: int = 1, rate: int = 16000) -> Path:
    file = folder / "word.wav"
    with wave.open(str(file), "wb") as opened:
        opened.setsampwidth(width)
        opened.setnchannels(channels)
        opened.setframerate(rate)
        opened.writeframes(data)
    return file


HALF = {1: b"\xc0", 2: struct.pack("<h", 1 << 14), 3: (1 << 22).to_bytes(3, "little"), 4: struct.pack("<i", 1 << 30)}
"""A sample of 0.5 in each width."""
MINUS = {1: b"\x00", 2: struct.pack("<h", -(1 << 15)), 3: b"\x00\x00\x80", 4: struct.pack("<i", -(1 << 31))}
"""A sample of -1."""


@pytest.mark.parametrize("width", [1, 2, 3, 4])
def test_samples_of_every_width(tmp_path: Path, width: int) -> None:
    array, words = read_sound(recorded(tmp_path, HALF[width] + MINUS[width], width), nnapi.tensor("float32", (1, 0)))
    assert array.tolist() == [[0.5, -1.0]]
    assert words == "0.000125 s at 16000 Hz, samples from -1 to 1"


def test_channels_are_averaged(tmp_path: Path) -> None:
    file = recorded(tmp_path, HALF[2] + MINUS[2], channels=2)
    array, words = read_sound(file, nnapi.tensor("float32", (0,)))
    assert array.tolist() == [-0.25]
    assert "2 channels averaged" in words


@pytest.mark.parametrize(("count", "verb"), [(500, "filled up with silence to"), (400, "cut to")])
def test_cut_or_filled(tmp_path: Path, count: int, verb: str) -> None:
    file = recorded(tmp_path, HALF[2] * 450)
    array, words = read_sound(file, nnapi.tensor("float32", (1, count)))
    assert array.shape == (1, count)
    assert np.count_nonzero(array) == min(450, count)
    assert f"{verb} {count} samples" in words


def test_quantized(tmp_path: Path) -> None:
    file = recorded(tmp_path, HALF[2] + MINUS[2])
    array, words = read_sound(file, nnapi.tensor("int8", (1, 0), 1 / 128, 0))
    assert array.dtype == np.int8
    assert array.tolist() == [[64, -128]]
    assert words.endswith("quantized")


@pytest.mark.parametrize(
    ("type", "reason"),
    [
        (nnapi.tensor("float32", (1, 96, 96, 1)), "cannot hold samples"),
        (nnapi.tensor("int32", (1, 16000)), "cannot hold samples"),
        (nnapi.tensor("float32", (1, 2)), "2 values is too short for a recording"),
    ],
)
def test_no_sound_fits(tmp_path: Path, type: nnapi.OperandType, reason: str) -> None:
    with pytest.raises(Mistake, match=reason):
        read_sound(recorded(tmp_path, HALF[2]), type)


def test_cut_off_within_a_sample(tmp_path: Path) -> None:
    file = recorded(tmp_path, HALF[2] * 4, channels=2)
    file.write_bytes(file.read_bytes()[:-1])
    array, _ = read_sound(file, nnapi.tensor("float32", (0,)))
    assert array.tolist() == [0.5]


def test_empty(tmp_path: Path) -> None:
    with pytest.raises(Mistake, match="the recording is empty"):
        read_sound(recorded(tmp_path, b""), nnapi.tensor("float32", (1, 16000)))


@pytest.mark.parametrize("data", [b"RIFF\x04\x00\x00\x00WAVE", b"RIFF\x00", b"noise"])
def test_damaged(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "word.wav"
    file.write_bytes(data)
    with pytest.raises(Mistake, match="the recording cannot be read: "):
        read_sound(file, nnapi.tensor("float32", (1, 16000)))


@pytest.mark.parametrize(("channels", "rate", "width"), [(0, 16000, 2), (1, 0, 2), (1, 16000, 0), (0, 0, 0)])
def test_a_header_of_zeros(channels: int, rate: int, width: int, tmp_path: Path) -> None:
    format = struct.pack("<HHIIHH", 1, channels, rate, rate * channels * width, channels * width, 8 * width)
    sound = b"WAVEfmt " + struct.pack("<I", 16) + format + b"data" + struct.pack("<I", 64) + bytes(64)
    file = tmp_path / "x.wav"
    file.write_bytes(b"RIFF" + struct.pack("<I", len(sound)) + sound)
    with pytest.raises(Mistake, match="samples a second|cannot be read"):
        read_sound(file, nnapi.tensor("float32", (500,)))


def test_a_header_that_promises_more_than_the_file_has(tmp_path: Path) -> None:
    file = recorded(tmp_path, bytes(1000))
    content = bytearray(file.read_bytes())
    content[40:44] = struct.pack("<I", 0xFFFFFFF0)
    file.write_bytes(content)
    array, words = read_sound(file, nnapi.tensor("float32", (500,)))
    assert array.shape == (500,)
    assert "0.0312 s" in words


@pytest.mark.parametrize(("before", "after"), [(44100, 16000), (8000, 16000), (48000, 16000), (22050, 16000)])
def test_resampled_tones_stay_what_they_are(before: int, after: int) -> None:
    def tone(rate: int) -> Array:
        seconds = np.arange(rate) / rate
        return (np.sin(880 * np.pi * seconds) + np.sin(3000 * np.pi * seconds)).astype(np.float32)

    resampled = _resample(tone(before), before, after)
    inner = slice(200, -200)  # the filter meets silence at both ends
    np.testing.assert_allclose(resampled[inner], tone(after)[inner], atol=5e-4)
    assert len(resampled) == after


def test_tones_that_the_new_rate_cannot_hold_are_removed() -> None:
    tone = np.sin(2 * np.pi * 12000 / 48000 * np.arange(48000)).astype(np.float32)
    assert abs(_resample(tone, 48000, 16000)[200:-200]).max() < 1e-3


def test_windows_share_samples_and_are_quantized_each(tmp_path: Path) -> None:
    """Half of a window is in the next one as well; quantizing one leaves the other as it was recorded."""
    file = recorded(tmp_path, HALF[2] * 12000, rate=8000)
    windows = read_windows(file, nnapi.tensor("int8", (1, 8000), 1 / 128, 0))
    assert [np.unique(each).tolist() for each in windows.inputs] == [[64], [64]]
