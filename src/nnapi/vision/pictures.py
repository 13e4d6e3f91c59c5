"""Read pictures as inputs of a model."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nnapi.codes import OperandCode
from nnapi.errors import Mistake, UnusableFile
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.ops.quantized_values import quantize
from nnapi.vision.view import Picture

MODES = {1: "L", 3: "RGB", 4: "RGBA"}
"""Pillow's modes by the number of channels."""
FLOATS = (OperandCode.TENSOR_FLOAT32, OperandCode.TENSOR_FLOAT16)


@dataclass(frozen=True)
class Pixels:
    """Map pixels 0 to 255 to float values: ``(pixel - mean) / std``, per channel or for all.

    If both are None, floats are -1 to 1, and 8-bit types store the pixel values. ``reason`` is where they come from.
    ``keeps_aspect`` adds black bars, or with ``share`` below 1 gray bars around that fraction of the input's side.
    ``has_mask`` fills the fourth channel, the previous mask, with zeros. ``is_bgr`` puts blue first.
    """

    mean: tuple[float, ...] | None = None
    std: tuple[float, ...] | None = None
    reason: str = ""
    keeps_aspect: bool = False
    share: float = 1.0
    has_mask: bool = False
    is_bgr: bool = False

    @classmethod
    def of_range(cls, low: float, high: float, reason: str = "", **flags: Any) -> "Pixels":
        """Return pixels that map black to ``low`` and white to ``high``."""
        std = 255 / (high - low)
        return cls((-low * std,), (std,), reason, **flags)

    @property
    def is_given(self) -> bool:
        return self.mean is not None or self.std is not None

    @property
    def is_chosen(self) -> bool:
        """Return whether the user gave the values."""
        return self.is_given and not self.reason

    def limits(self) -> tuple[float, float]:
        """Return the least and greatest float value of a pixel of any channel."""
        means, stds = np.broadcast_arrays(self.mean or (0.0,), self.std or (1.0,))
        ends = np.concatenate([-means / stds, (255 - means) / stds])
        return float(ends.min()), float(ends.max())

    @property
    def guess(self) -> str:
        """Return how the values were guessed; "" if they were not guessed."""
        return re.split("[,;]", self.reason)[0] if self.reason.startswith("guessed") else ""


PLAIN = Pixels()


def find_layout(type: OperandType) -> str:
    """Return a letter per dimension: batch N, height H, width W, channels C. Mistake if the type does not hold one gray
    or color picture."""
    if type.code not in FLOATS and not type.is_quantized:
        raise UnusableFile("an input of this type cannot hold a picture: give a .npy file")
    for letters in ("NHWC", "NCHW", "HWC", "NHW", "HW"):
        dimensions = dict(zip(letters, type.dimensions, strict=False))
        fits = len(letters) == type.rank and dimensions.get("N", 1) in (0, 1) and dimensions.get("C", 1) in MODES
        if fits and 1 not in (dimensions["H"], dimensions["W"]):
            return letters
    raise UnusableFile("an input of this shape cannot hold a single picture: give a .npy file")


def read_picture(file: Path, type: OperandType, pixels: Pixels) -> tuple[Array, str]:
    """Read a picture as a value of ``type``, and describe the conversion. Unspecified dimensions become the
    picture's."""
    letters = find_layout(type)
    wanted = dict(zip(letters, type.dimensions, strict=True))
    opened = open_picture(file, wanted.get("C", 1))
    size = wanted["W"] or opened.width, wanted["H"] or opened.height
    picture, words = _resize(opened, size, pixels)
    return _store(np.atleast_3d(np.asarray(picture)), words, type, letters, pixels)


def store_pixels(array: Array, type: OperandType, pixels: Pixels) -> tuple[Array, str]:
    """Convert an array of pixels 0 to 255, with the dimensions of ``type``, as :func:`read_picture` converts a file."""
    letters = find_layout(type)
    whole = array[0] if letters.startswith("N") else array
    values = np.atleast_3d(whole.transpose(1, 2, 0) if letters == "NCHW" else whole)
    return _store(values, f"array of {values.shape[1]}×{values.shape[0]} pixels", type, letters, pixels)


def _store(values: Array, words: str, type: OperandType, letters: str, pixels: Pixels) -> tuple[Array, str]:
    """Convert pixels, ordered as height, width and channel; also describe the conversion, beginning with ``words``."""
    if pixels.has_mask and values.shape[-1] == 4:
        values = np.concatenate([values[..., :3], np.zeros_like(values[..., :1])], -1)
        words += ", an empty mask as the fourth channel"
    if pixels.is_bgr and values.shape[-1] == 3:
        values = values[..., ::-1]
        words += ", blue before red"
    stored, conversion = _numbers(values, type, pixels)
    if pixels.reason:
        conversion += f" ({pixels.reason})"
    found = {"N": 1, **dict(zip("HWC", stored.shape, strict=True))}
    ordered = stored.transpose(2, 0, 1) if letters == "NCHW" else stored
    gray = ["gray"] if found["C"] == 1 else []
    shape = [found[letter] for letter in letters]
    return np.ascontiguousarray(ordered.reshape(shape)), ", ".join([words, *gray, conversion])


def open_picture(file: Path, channels: int) -> Picture:
    """Open the picture with that many channels, turned upright by its camera's metadata."""
    from PIL import Image, ImageOps, UnidentifiedImageError

    try:
        with Image.open(file) as opened:
            return _with_channels(ImageOps.exif_transpose(opened), channels)
    except UnidentifiedImageError:
        raise UnusableFile("neither a picture that Pillow can read, nor .npy, nor .wav") from None
    except Image.DecompressionBombError as error:
        raise UnusableFile(str(error)) from None
    except (OSError, SyntaxError, ValueError) as error:
        raise UnusableFile(f"the picture is damaged: {error}") from None


def _resize(picture: Picture, size: tuple[int, int], pixels: Pixels) -> tuple[Picture, str]:
    """Stretch the picture to ``size``, or add bars beside it; also describe the conversion."""
    from PIL import Image

    left, top, width, height = fit_inside(picture.size, size, pixels.share) if pixels.keeps_aspect else (0, 0, *size)
    words = f"{picture.width}×{picture.height}"
    if picture.size != (width, height):
        words += f" resized to {width}×{height} (bilinear)"
        picture = picture.resize((width, height), Image.Resampling.BILINEAR)
    if size == (width, height):
        return picture, words
    whole = Image.new("L", size, 127 if pixels.share < 1 else 0).convert(picture.mode)
    whole.paste(picture, (left, top))
    return whole, f"{words} within {size[0]}×{size[1]}"


def fit_inside(inner: tuple[int, int], outer: tuple[int, int], share: float = 1.0) -> tuple[int, int, int, int]:
    """Return left, top, width and height of a picture with the aspect of ``inner``, centered in ``outer``.

    The picture fills ``share`` of the height or of the width.
    """
    scale = share * min(outer[0] / inner[0], outer[1] / inner[1])
    width, height = max(1, round(inner[0] * scale)), max(1, round(inner[1] * scale))
    return (outer[0] - width) // 2, (outer[1] - height) // 2, width, height


def _with_channels(picture: Picture, channels: int) -> Picture:
    """Convert to gray, RGB or RGBA; transparent areas become white if opacity is dropped."""
    from PIL import Image

    if picture.mode.startswith("I;16") or picture.mode == "I":
        picture = Image.fromarray((np.asarray(picture).astype(np.int64) // 257).clip(0, 255).astype(np.uint8))
    if channels != 4 and picture.has_transparency_data:
        colored = picture.convert("RGBA")
        white = Image.new("RGBA", picture.size, "white")
        picture = Image.alpha_composite(white, colored)
    return picture.convert(MODES[channels])


def _numbers(pixels: Array, type: OperandType, wanted: Pixels) -> tuple[Array, str]:
    if not wanted.is_given:
        if type.code == OperandCode.TENSOR_QUANT8_ASYMM:
            return pixels.astype(np.uint8), "pixels 0 to 255 as quantized values"
        if type.dtype == np.int8:
            return (pixels.astype(np.int16) - 128).astype(np.int8), "pixels 0 to 255 as quantized values -128 to 127"
        wanted = Pixels.of_range(-1, 1)
    mean, std = _per_channel(wanted.mean, 0.0, pixels), _per_channel(wanted.std, 1.0, pixels)
    words = f"(pixel - {_join(mean)}) / {_join(std)}"
    if len(mean) == len(std) == 1:
        low, high = -mean[0] / std[0], (255 - mean[0]) / std[0]
        words = "pixels 0 to 255" if (low, high) == (0, 255) else f"pixels scaled to {low + 0.0:.4g} to {high:.4g}"
    real = (pixels.astype(np.float32) - mean) / std
    if type.is_quantized:
        return quantize(type, real), f"{words}, quantized"
    return real.astype(type.dtype), words


def _per_channel(values: tuple[float, ...] | None, default: float, pixels: Array) -> Array:
    values = values or (default,)
    if len(values) not in (1, pixels.shape[-1]):
        raise Mistake(f"{len(values)} numbers for {pixels.shape[-1]} channels in --mean or --std")
    return np.array(values, np.float32)


def _join(values: Array) -> str:
    return f"[{', '.join(f'{value:g}' for value in values)}]" if len(values) > 1 else f"{values[0]:g}"


def picture_size(shape: Shape) -> tuple[int, int]:
    """Return height and width of an input with this shape; 0 if it is not a picture."""
    return (shape[1], shape[2]) if len(shape) == 4 else (0, 0)
