"""Read recordings as inputs of a model."""

import math
import wave
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nnapi.errors import UnusableFile
from nnapi.model.operand import Array, OperandType
from nnapi.ops.quantized_values import quantize
from nnapi.printable import pluralize
from nnapi.vision.pictures import FLOATS
from nnapi.vision.pixel_ranges import stored_limits

FEWEST = 400
"""Minimum samples of a sound input: 25 ms at 16 kHz, the shortest frame of speech in use."""

FEWEST_OF_EVENTS = 4000
"""Minimum samples of an input that is recognized as sound without a recording: 0.25 s at 16 kHz."""

FEATURES = {
    (1960,): "49×40 spectrogram energies (30 ms every 20 ms, as micro_speech has them)",
    (49, 10): "49×10 cepstral coefficients (MFCC)",
    (49, 40): "49×40 spectrogram energies (30 ms every 20 ms)",
    (49, 257): "49×257 spectrogram magnitudes",
    (96, 64): "96×64 log-mel energies (as YAMNet has them)",
    (30, 40): "30×40 log-mel energies",
    (257,): "257 magnitudes of a spectrum (as DTLN has them)",
}
"""Features of sounds by the dimensions of a model's input, without dimensions of 1."""
REACH = 0.5
"""An input of samples must be able to store at least ± this amplitude."""


class SoundWindows(NamedTuple):
    """Overlapping windows of a recording; ``step`` from start to start and ``length`` are in seconds."""

    inputs: list[Array]
    step: float
    length: float
    conversion: str


def takes_samples(type: OperandType) -> bool:
    dimensions = [dimension for dimension in type.dimensions if dimension != 1]
    return len(dimensions) == 1 and dimensions[0] >= FEWEST_OF_EVENTS and (type.code in FLOATS or type.is_quantized)


def is_sound(file: Path) -> bool:
    with file.open("rb") as opened:
        start = opened.read(12)
    return start.startswith(b"RIFF") and start[8:12] == b"WAVE"


def read_windows(file: Path, type: OperandType, rate: int = 0) -> SoundWindows:
    """Cut a .wav file into inputs that overlap by half; pad the last with silence. ``rate`` is the model's, or 0."""
    samples, found, words = _read(file)
    if rate and rate != found:
        samples, words = _resample(samples, found, rate), f"{words} resampled to {rate} Hz"
    count = max(type.dimensions)
    step = max(1, count // 2)
    steps = max(0, -(-(len(samples) - count) // step))
    padded = np.zeros(count + steps * step, np.float32)
    padded[: len(samples)] = samples
    inputs = [_store(padded[at : at + count], type) for at in range(0, steps * step + 1, step)]
    rate = rate or found
    words += f", {pluralize(len(inputs), 'window')} of {count / rate:.3g} s, samples from -1 to 1"
    return SoundWindows(inputs, step / rate, count / rate, words)


LOBES = 16
"""Zero crossings of the resampling filter on each side of a sample."""


def _resample(samples: Array, before: int, after: int) -> Array:
    """Resample by a Hann-windowed sinc; frequencies above half of the lower rate are removed."""
    cutoff = min(1.0, after / before)
    reach = math.ceil(LOBES / cutoff)
    padded = np.pad(samples.astype(np.float32), reach)
    resampled = np.empty(-(-len(samples) * after // before), np.float32)
    for start in range(0, len(resampled), after):  # one second per step
        times = np.arange(start, min(start + after, len(resampled))) * before / after
        taps = times.astype(np.int64)[:, None] + np.arange(1 - reach, reach + 1)
        distance = times[:, None] - taps
        weights = np.sinc(distance * cutoff) * (1 + np.cos(np.pi * np.clip(distance / reach, -1, 1)))
        resampled[start : start + after] = (padded[taps + reach] * weights).sum(axis=1) / weights.sum(axis=1)
    return resampled


def _store(samples: Array, type: OperandType) -> Array:
    return quantize(type, samples).reshape([dimension or len(samples) for dimension in type.dimensions])


def read_sound(file: Path, type: OperandType) -> tuple[Array, str]:
    """Read a .wav file into an input [N] or [1, N] as samples from -1 to 1; also describe the conversion.

    Channels are averaged. The recording is cut, or padded with silence, but not resampled.
    """
    dimensions = [dimension for dimension in type.dimensions if dimension != 1]
    if len(dimensions) > 1 or not type.rank or (type.code not in FLOATS and not type.is_quantized):
        raise UnusableFile("an input of this type cannot hold samples: give a .npy file")
    samples, _, words = _read(file)
    count = dimensions[0] if dimensions else 1
    if 0 < count < FEWEST:
        raise UnusableFile(f"an input of {count} values is too short for a recording: give a .npy file")
    low, high = stored_limits(type) if type.is_quantized else (-1, 1)
    if low > -REACH or high < REACH:
        raise UnusableFile("the quantized input cannot store samples from -1 to 1: give its values as a .npy file")
    count = count or len(samples)
    if len(samples) != count:
        words += f", {'cut' if len(samples) > count else 'filled up with silence'} to {count} samples"
    fitted = np.zeros(count, np.float32)
    fitted[: min(count, len(samples))] = samples[:count]
    words += ", samples from -1 to 1" + (", quantized" if type.is_quantized else "")
    return _store(fitted, type), words


def _read(file: Path) -> tuple[Array, int, str]:
    """Return the samples of all channels' mean, from -1 to 1, the sample rate in Hz, and a description."""
    try:
        with wave.open(str(file)) as opened:
            rate, channels, width = opened.getframerate(), opened.getnchannels(), opened.getsampwidth()
            if not (rate and channels and width):
                raise UnusableFile(f"the recording has {rate} samples a second, {channels} channels of {width} bytes")
            most = file.stat().st_size // (channels * width)  # the header may claim more bytes than there is memory
            data = opened.readframes(min(opened.getnframes(), most))
    except (wave.Error, EOFError) as error:
        raise UnusableFile(f"the recording cannot be read: {str(error) or 'it ends too early'}") from None
    whole = len(data) - len(data) % (width * channels)
    if not whole:
        raise UnusableFile("the recording is empty")
    samples = _to_floats(data[:whole], width).reshape(-1, channels).mean(axis=1)
    words = f"{len(samples) / rate:.3g} s at {rate} Hz"
    return samples, rate, words + (f", {channels} channels averaged" if channels > 1 else "")


def _to_floats(data: bytes, width: int) -> Array:
    """Convert samples of 1 (unsigned), 2, 3 or 4 bytes to floats."""
    raw = np.frombuffer(data, np.uint8).reshape(-1, width) ^ (0x80 if width == 1 else 0)
    padded = np.zeros((len(raw), 4), np.uint8)
    padded[:, 4 - width :] = raw
    return padded.view("<i4").reshape(-1).astype(np.float32) / np.float32(2**31)
