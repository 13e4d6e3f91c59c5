"""Recordings as the input of a model that takes samples."""

from __future__ import annotations

import wave
from pathlib import Path

import numpy as np

from nnapi.cli.failure import Mistake
from nnapi.codes import FuseCode, OperandCode
from nnapi.model.operand import Array, OperandType
from nnapi.ops.quantization import requantizer

FEWEST = 400
"""Samples below which an input is taken for something else: 25 ms at 16 kHz, the shortest frame of speech in use."""


def read_sound(file: Path, type: OperandType) -> tuple[Array, str]:
    """A .wav file as samples from -1 to 1 in an input [N] or [1, N], and what was done to it.

    Channels are averaged; what is too long is cut, what is too short is followed by silence; the rate is kept.
    """
    floats = (OperandCode.TENSOR_FLOAT32, OperandCode.TENSOR_FLOAT16)
    dimensions = [dimension for dimension in type.dimensions if dimension != 1]
    if len(dimensions) > 1 or not type.rank or (type.code not in floats and not type.is_quantized):
        raise Mistake("an input of this type takes no samples, give a .npy file")
    samples, words = _read(file)
    count = dimensions[0] if dimensions else 1
    if 0 < count < FEWEST:
        raise Mistake(f"an input of {count} numbers takes no recording, give a .npy file")
    count = count or len(samples)
    if len(samples) != count:
        words += f", {'cut' if len(samples) > count else 'filled up with silence'} to {count} samples"
    fitted = np.zeros(count, np.float32)
    fitted[: min(count, len(samples))] = samples[:count]
    words += ", samples from -1 to 1"
    if type.is_quantized:
        fitted, words = requantizer(type, FuseCode.FUSED_NONE, 1.0)(fitted), f"{words}, quantised"
    return fitted.astype(type.dtype).reshape([dimension or count for dimension in type.dimensions]), words


def _read(file: Path) -> tuple[Array, str]:
    """Samples from -1 to 1, one channel, and the recording in words."""
    try:
        with wave.open(str(file)) as opened:
            rate, channels, width = opened.getframerate(), opened.getnchannels(), opened.getsampwidth()
            if not (rate and channels and width):
                raise Mistake(f"the recording has {rate} samples a second, {channels} channels of {width} bytes")
            most = file.stat().st_size // (channels * width)  # the header may promise more than there is memory
            data = opened.readframes(min(opened.getnframes(), most))
    except (wave.Error, EOFError) as error:
        raise Mistake(f"the recording cannot be read: {str(error) or 'it ends too early'}") from None
    whole = len(data) - len(data) % (width * channels)
    if not whole:
        raise Mistake("the recording is empty")
    samples = _real(data[:whole], width).reshape(-1, channels).mean(axis=1)
    words = f"{len(samples) / rate:.3g} s at {rate} Hz"
    return samples, words + (f", {channels} channels averaged" if channels > 1 else "")


def _real(data: bytes, width: int) -> Array:
    """Whole samples of 1 (unsigned), 2, 3 or 4 bytes as real numbers."""
    if width == 1:
        return (np.frombuffer(data, np.uint8).astype(np.float32) - 128) / 128
    raw = np.frombuffer(data, np.uint8).reshape(-1, width)
    padded = np.zeros((len(raw), 4), np.uint8)
    padded[:, 4 - width :] = raw
    return padded.view("<i4").reshape(-1).astype(np.float32) / np.float32(2**31)
