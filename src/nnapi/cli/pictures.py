"""Pictures as the input of a model: turned upright, resized, with the channels and numbers that it takes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from nnapi.cli.failure import Mistake
from nnapi.codes import FuseCode, OperandCode
from nnapi.model.operand import Array, OperandType
from nnapi.ops.quantization import requantizer

if TYPE_CHECKING:
    from PIL.Image import Image

MODES = {1: "L", 3: "RGB", 4: "RGBA"}
"""How Pillow calls pictures of 1, 3 and 4 channels."""
FLOATS = (OperandCode.TENSOR_FLOAT32, OperandCode.TENSOR_FLOAT16)


@dataclass(frozen=True)
class Pixels:
    """How pixel values 0 to 255 become real numbers: ``(pixel - mean) / std``, per channel where several are given.

    Both None means what the input's type suggests: -1 to 1 for floats, the pixel values as codes for 8-bit types.
    """

    mean: tuple[float, ...] | None = None
    std: tuple[float, ...] | None = None

    @property
    def is_given(self) -> bool:
        return self.mean is not None or self.std is not None


def layout(type: OperandType) -> str:
    """What the input's dimensions mean, a letter each: batch N, height H, width W, channels C (1 where not named).

    Raises Mistake where one picture, grey or coloured, does not fit.
    """
    if type.code not in FLOATS and not type.is_quantized:
        raise Mistake("an input of this type takes no picture, give a .npy file")
    for letters in ("NHWC", "NCHW", "HWC", "NHW", "HW"):
        dimensions = dict(zip(letters, type.dimensions, strict=False))
        fits = len(letters) == type.rank and dimensions.get("N", 1) in (0, 1) and dimensions.get("C", 1) in MODES
        if fits and 1 not in (dimensions["H"], dimensions["W"]):
            return letters
    raise Mistake("an input of this shape takes no single picture, give a .npy file")


def read_picture(file: Path, type: OperandType, pixels: Pixels) -> tuple[Array, str]:
    """The picture in a file of any common format as a value of that type, and what was done to it.

    Dimensions that the model leaves open are the picture's own.
    """
    letters = layout(type)
    wanted = dict(zip(letters, type.dimensions, strict=True))
    picture, words = _resize(open_picture(file, wanted.get("C", 1)), wanted["W"], wanted["H"])
    stored, conversion = _numbers(np.atleast_3d(np.asarray(picture)), type, pixels)
    found = {"N": 1, **dict(zip("HWC", stored.shape, strict=True))}
    ordered = stored.transpose(2, 0, 1) if letters == "NCHW" else stored
    grey = ["grey"] if found["C"] == 1 else []
    shape = [found[letter] for letter in letters]
    return np.ascontiguousarray(ordered.reshape(shape)), ", ".join([words, *grey, conversion])


def open_picture(file: Path, channels: int) -> Image:
    """The picture, upright as its camera says, with that many channels."""
    from PIL import Image, ImageOps, UnidentifiedImageError

    try:
        with Image.open(file) as opened:
            return _with_channels(ImageOps.exif_transpose(opened), channels)
    except UnidentifiedImageError:
        raise Mistake("neither a picture that Pillow can read, nor .npy, nor .wav") from None
    except Image.DecompressionBombError as error:
        raise Mistake(str(error)) from None
    except (OSError, SyntaxError, ValueError) as error:
        raise Mistake(f"the picture is damaged: {error}") from None


def _resize(picture: Image, width: int, height: int) -> tuple[Image, str]:
    """The picture at that size, stretched if need be, and what was done; 0 keeps a dimension."""
    from PIL import Image

    before, after = picture.size, (width or picture.width, height or picture.height)
    if before == after:
        return picture, f"{before[0]}×{before[1]}"
    words = f"{before[0]}×{before[1]} resized to {after[0]}×{after[1]} (bilinear)"
    return picture.resize(after, Image.Resampling.BILINEAR), words


def _with_channels(picture: Image, channels: int) -> Image:
    """In grey, colour, or colour with opacity; what is transparent is laid on white where opacity is not kept."""
    from PIL import Image

    if picture.mode.startswith("I;16") or picture.mode == "I":
        picture = Image.fromarray((np.asarray(picture).astype(np.int64) // 257).clip(0, 255).astype(np.uint8))
    if channels != 4 and picture.has_transparency_data:
        coloured = picture.convert("RGBA")
        white = Image.new("RGBA", picture.size, "white")
        picture = Image.alpha_composite(white, coloured)
    return picture.convert(MODES[channels])


def _numbers(pixels: Array, type: OperandType, wanted: Pixels) -> tuple[Array, str]:
    """Pixel values as the input stores them."""
    if not wanted.is_given and type.code == OperandCode.TENSOR_QUANT8_ASYMM:
        return pixels, "pixels 0 to 255 as codes"
    if not wanted.is_given and type.dtype == np.int8:
        return (pixels.astype(np.int16) - 128).astype(np.int8), "pixels 0 to 255 as codes -128 to 127"
    mean, std = _per_channel(wanted.mean, 0.0, pixels), _per_channel(wanted.std, 1.0, pixels)
    words = f"(pixel - {_join(mean)}) / {_join(std)}"
    if not wanted.is_given:
        mean = std = np.array([127.5], np.float32)
        words = "pixels scaled to -1 to 1"
    real = (pixels.astype(np.float32) - mean) / std
    if type.is_quantized:
        return requantizer(type, FuseCode.FUSED_NONE, 1.0)(real), f"{words}, quantised"
    return real.astype(type.dtype), words


def _per_channel(values: tuple[float, ...] | None, default: float, pixels: Array) -> Array:
    values = values or (default,)
    if len(values) not in (1, pixels.shape[-1]):
        raise Mistake(f"{len(values)} numbers for {pixels.shape[-1]} channels in --mean or --std")
    return np.array(values, np.float32)


def _join(values: Array) -> str:
    return f"[{', '.join(f'{value:g}' for value in values)}]" if len(values) > 1 else f"{values[0]:g}"
