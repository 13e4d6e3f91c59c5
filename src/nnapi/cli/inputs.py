"""Inputs of a run: files, recognized by their content, or random values."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nnapi.cli.sounds import FEATURES, Windows, is_sound, read_sound
from nnapi.codes import OperandCode
from nnapi.errors import Mistake
from nnapi.model.model import Model, Operand
from nnapi.model.operand import Array, OperandType, combine
from nnapi.ops.quantized_values import quantize
from nnapi.vision.pictures import PLAIN, Pixels, read_picture

LONGEST = 200


@dataclass(frozen=True)
class InputValue:
    """An array for one input, with its source and a description of how it was converted."""

    array: Array
    source: str
    conversion: str
    file: Path | None = None
    is_picture: bool = False


class FinishedRun(NamedTuple):
    """A finished run; times are in seconds.

    ``seconds`` is None if other runs computed at the same time. ``first`` is the time of the compilation's first run,
    which sets the engine up, if later runs were timed. ``preparation`` is the time to read and convert the inputs. For
    the ``windows`` of a recording, outputs are concatenated along the first dimension.
    """

    inputs: list[InputValue]
    outputs: list[Array]
    seconds: float | None
    first: float | None = None
    preparation: float | None = None
    windows: Windows | None = None


def input_operands(model: Model) -> list[Operand]:
    return [model.operands[index] for index in model.inputs]


def assign_to_runs(model: Model, files: Sequence[Path]) -> list[list[Path]]:
    """Assign files to runs: one file each if the model has one input, else all files to one run; Mistake for a wrong
    count. Without files there is one run on random values."""
    count = len(model.inputs)
    if count == 1 and files:
        return [[file] for file in files]
    if len(files) not in (0, count):
        names = ", ".join(f"{each.name or each.index} {list(each.type.dimensions)}" for each in input_operands(model))
        raise Mistake(f"the model has {count} inputs ({names}), so give {count} files or none, not {len(files)}")
    return [list(files)]


def read_inputs(model: Model, files: Sequence[Path], pixels: Pixels = PLAIN, seed: int = 0) -> list[InputValue]:
    operands = input_operands(model)
    if not files:
        return [random_input(operand, seed) for operand in operands]
    return [read_input(file, operand, pixels) for file, operand in zip(files, operands, strict=True)]


def read_arrays(model: Model, files: Sequence[Path], seed: int = 0) -> list[Array]:
    return [given.array for given in read_inputs(model, files, seed=seed)]


def read_input(file: Path, operand: Operand, pixels: Pixels) -> InputValue:
    """Read the file as a value of the operand; Mistake, which names both, if it does not fit."""
    with file.open("rb") as opened:
        is_array = opened.read(6) == b"\x93NUMPY"
    is_recording = is_sound(file)
    try:
        if is_array:
            array, conversion = _read_array(file, operand.type)
        elif features := FEATURES.get(tuple(size for size in operand.type.dimensions if size > 1)):
            raise Mistake(
                f"the model expects {features}, which nnapi does not compute from sound; pass them as a .npy file"
            )
        elif is_recording:
            array, conversion = read_sound(file, operand.type)
        else:
            array, conversion = read_picture(file, operand.type, pixels)
    except Mistake as mistake:
        raise Mistake(f"{file.name} for {operand}: {mistake}") from None
    return InputValue(array, file.name, conversion, file, not is_array and not is_recording)


def _read_array(file: Path, type: OperandType) -> tuple[Array, str]:
    """Read a .npy file of the stored type, or of values to convert; leading dimensions of 1 may be missing."""
    array = _map_array(file)
    dimensions = (1,) * (type.rank - array.ndim) + array.shape
    shape = () if type.is_scalar else combine(type.dimensions, dimensions)
    if shape is None or array.size != math.prod(shape):
        raise Mistake(f"the array has shape {list(array.shape)}")
    with np.errstate(invalid="ignore"):  # NaN is passed to the model
        stored, conversion = _convert(array, type)
    return np.require(stored, requirements="C").reshape(shape), conversion


def _map_array(file: Path) -> Array:
    """Map the array in a .npy file, because the header may claim more bytes than there is memory."""
    try:
        return np.asarray(np.load(file, mmap_mode="r", allow_pickle=False))
    except OSError:
        raise
    except Exception as error:  # NumPy reads the header as Python, which may raise nearly anything
        words = " ".join(str(error).split())
        raise Mistake(f"not a plain .npy: {words[:LONGEST]}{'…' if words[LONGEST:] else ''}") from None


def _convert(array: Array, type: OperandType) -> tuple[Array, str]:
    found, wanted = array.dtype, type.dtype
    if found == wanted or (found == np.bool_ and wanted == np.uint8):
        return array.view(wanted), f"{found} as it is"
    if found.kind == "f" and type.is_quantized:
        return quantize(type, array), f"{found}, quantized"
    if found.kind in "iufb" and (
        np.can_cast(found, wanted, "same_kind") or np.array_equal(array.astype(wanted), array)
    ):
        return array.astype(wanted), f"{found}, converted to {wanted}"
    raise Mistake(f"the array is of {found}, the input stores {wanted}")


def random_input(operand: Operand, seed: int) -> InputValue:
    """Return values that depend only on the seed, the operand and NumPy; unspecified dimensions become 1."""
    type = operand.type
    if not type.is_scalar and not type.rank:
        raise Mistake(f"{operand} has unknown rank: give a .npy file")
    generator = np.random.default_rng([seed, operand.index])
    shape = tuple(dimension or 1 for dimension in type.dimensions)
    if type.dtype.kind == "f":
        array, conversion = generator.uniform(-1, 1, shape).astype(type.dtype), "values from -1 to 1"
    elif type.code in (OperandCode.TENSOR_BOOL8, OperandCode.BOOL):
        array, conversion = generator.integers(0, 2, shape).astype(type.dtype), "false and true"
    elif type.is_quantized:
        limits = np.iinfo(type.dtype)
        array = generator.integers(limits.min, limits.max, shape, endpoint=True).astype(type.dtype)
        conversion = f"quantized values from {limits.min} to {limits.max}"
    else:
        array, conversion = generator.integers(0, 10, shape).astype(type.dtype), "integers from 0 to 9"
    return InputValue(np.asarray(array), f"random input (seed {seed})", conversion)
