"""Inputs from .npy files: values as the model stores them, pixels, or numbers that the input can store."""

import math
from pathlib import Path
from typing import Any

import numpy as np

from nnapi.codes import OperandCode
from nnapi.errors import BadDataError, Mistake, UnusableFile, need
from nnapi.model.operand import Array, OperandType, combine
from nnapi.ops.quantized_values import quantize
from nnapi.printable import pluralize
from nnapi.vision.pictures import Pixels, find_layout, store_pixels
from nnapi.vision.pixel_ranges import NEAR, stored_limits

LONGEST = 200
BOOLEANS = (OperandCode.TENSOR_BOOL8, OperandCode.BOOL)
HOW = "save pixels 0 to 255 as uint8, or scale the values"


def read_array(file: Path, type: OperandType, pixels: Pixels) -> tuple[Array, str]:
    """Read a .npy file as a value of ``type``, and describe the conversion; leading dimensions of 1 may be missing.

    Integers from 0 to 255 for an input that holds a picture are pixels, unless they are of the stored type. Mistake if
    the input cannot store the values.
    """
    array = _order(map_array(file), type)
    dimensions = (1,) * (type.rank - array.ndim) + array.shape
    shape = () if type.is_scalar else combine(type.dimensions, dimensions)
    if shape is None or array.size != math.prod(shape):
        hint = " (the command resizes pictures in files, not arrays)" if holds_picture(type) else ""
        raise UnusableFile(f"the array has shape {list(array.shape)}, the input {_format_shape(type)}{hint}")
    if are_pixels(array, type, pixels):
        return store_pixels(array.reshape(shape).astype(np.float32), type, pixels)
    if pixels.is_chosen:
        raise Mistake(f"--range, --mean and --std need pixels 0 to 255, but the array has {_describe(array)}")
    doubt = _check_range(array, type, pixels)
    stored, conversion = _convert(array, type)
    return np.require(stored, requirements="C").reshape(shape), conversion + doubt


def _format_shape(type: OperandType) -> str:
    shape = ", ".join(str(dimension or "?") for dimension in type.dimensions)
    return "is a scalar" if type.is_scalar else f"[{shape}]"


def map_array(file: Path) -> Array:
    """Map the array in a .npy file, because the header may claim more bytes than there is memory."""
    try:
        found = np.load(file, mmap_mode="r", allow_pickle=False)
        need(isinstance(found, np.ndarray), "it is an archive of arrays", BadDataError)
        return np.asarray(found)
    except OSError:
        raise
    except Exception as error:  # NumPy reads the header as Python, which may raise nearly anything
        words = " ".join(str(error).split())
        raise UnusableFile(f"not a plain .npy: {words[:LONGEST]}{'…' if words[LONGEST:] else ''}") from None


def _order(array: Array, type: OperandType) -> Array:
    """Move the channels of a picture first, if the input has them there and the array has them last."""
    channels, *size = type.dimensions[-3:] if holds_picture(type) and find_layout(type) == "NCHW" else (0,)
    is_last = channels and array.shape[-3:] == (*size, channels) and array.ndim in (3, 4)
    return np.moveaxis(array, -1, -3) if is_last else array


def are_pixels(array: Array, type: OperandType, pixels: Pixels) -> bool:
    """Return whether an array is a picture for this input. The stored type, and floats, may also be other values, so
    they are pixels only if the user says how pixels are converted."""
    if not (pixels.is_chosen or (array.dtype.kind in "iu" and array.dtype != type.dtype)):
        return False
    return holds_picture(type) and array.dtype.kind in "iuf" and bool(np.all((array >= 0) & (array <= 255)))


def holds_picture(type: OperandType) -> bool:
    try:
        find_layout(type)
    except Mistake:
        return False
    return True


def _check_range(array: Array, type: OperandType, pixels: Pixels) -> str:
    """Raise Mistake for a float picture outside the range that the model takes; return a doubt if that is a guess."""
    if array.dtype.kind != "f" or not pixels.is_given or not holds_picture(type):
        return ""
    low, high = pixels.limits()
    beyond = NEAR * (high - low)
    if not np.any((array < low - beyond) | (array > high + beyond)):
        return ""
    if pixels.guess:
        return f", {_describe(array)}; a picture would be from {low:.4g} to {high:.4g} ({pixels.reason})"
    words = f"but the model takes {low:.4g} to {high:.4g} ({pixels.reason}): {HOW}"
    raise UnusableFile(f"the array has {_describe(array)}, {words}")


def _convert(array: Array, type: OperandType) -> tuple[Array, str]:
    found, wanted = array.dtype, type.dtype
    if found.kind not in "iufb":
        raise UnusableFile(f"the array is of {found}, the input stores {wanted}")
    if type.code in BOOLEANS and not np.all((array == 0) | (array == 1)):
        raise UnusableFile(f"the array has {_describe(array)}, the input stores false and true, 0 and 1")
    if found == wanted or (found == np.bool_ and wanted == np.uint8):
        return array.view(wanted), f"{found} as it is{_count_nan(array)}"
    if type.is_quantized:
        return _quantize(array, type), f"{found}, quantized"
    with np.errstate(invalid="ignore", over="ignore"):
        stored = array.astype(wanted)
    if wanted.kind == "f" and found.kind == "f":
        fits = np.array_equal(np.isinf(stored), np.isinf(array))
    else:
        fits = np.array_equal(stored, array)
    if not fits:
        raise UnusableFile(f"the array has {found} {_describe(array)}, the input stores {_describe_type(wanted)}")
    return stored, f"{found}, converted to {wanted}{_count_nan(array)}"


def _quantize(array: Array, type: OperandType) -> Array:
    low, high = stored_limits(type)
    if array.dtype.kind != "f":
        how = f"save quantized values as {type.dtype}, or float values from {low:.4g} to {high:.4g} as float32"
        raise UnusableFile(f"the array is of {array.dtype}, the input stores quantized values of {type.dtype}: {how}")
    beyond = NEAR * (high - low)
    if not np.all((array >= low - beyond) & (array <= high + beyond)):
        how = f": {HOW}" if holds_picture(type) else ": scale the values"
        raise UnusableFile(f"the array has {_describe(array)}, the input stores {low:.4g} to {high:.4g}{how}")
    return quantize(type, array)


def _describe(array: Array) -> str:
    if np.isnan(array).any():
        return "values that are NaN"
    return f"values from {array.min():.6g} to {array.max():.6g}" if array.size else "no values"


def _describe_type(wanted: "np.dtype[Any]") -> str:
    if wanted.kind == "f":
        return f"{wanted}, up to {np.finfo(wanted).max:.4g}"
    info = np.iinfo(wanted)
    return f"whole numbers from {info.min} to {info.max} ({wanted})"


def _count_nan(array: Array) -> str:
    count = int(np.isnan(array).sum()) if array.dtype.kind == "f" else 0
    return f", {pluralize(count, 'value')} of {array.size} NaN" if count else ""
