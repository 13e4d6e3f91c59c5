"""Inputs of a run: files, recognized by their content, or random values."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nnapi.cli.array_inputs import BOOLEANS, read_array
from nnapi.cli.sounds import FEATURES, SoundWindows, is_sound, read_sound
from nnapi.errors import Mistake, UnusableFile
from nnapi.model.model import Model, Operand
from nnapi.model.operand import Array
from nnapi.store.files import open_regular
from nnapi.vision.pictures import PLAIN, Pixels, read_picture


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

    ``seconds`` is None if other runs computed at the same time, or a device has a substitute. ``first`` is the time of
    the compilation's first run, which sets the engine up, if later runs were timed. ``preparation`` is the time to read
    and convert the inputs. For the ``windows`` of a recording, outputs are concatenated along the first dimension.
    """

    inputs: list[InputValue]
    outputs: list[Array]
    seconds: float | None
    first: float | None = None
    preparation: float | None = None
    windows: SoundWindows | None = None


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
        return [random_input(each, seed, is_empty=each.index in model.empty_inputs) for each in operands]
    return [read_input(file, operand, pixels) for file, operand in zip(files, operands, strict=True)]


def read_arrays(model: Model, files: Sequence[Path], seed: int = 0) -> list[Array]:
    return [given.array for given in read_inputs(model, files, seed=seed)]


def read_one_run(model: Model, files: Sequence[Path], seed: int = 0) -> list[Array]:
    """Return the inputs of a single run; Mistake if the files are those of several."""
    if len(assign_to_runs(model, files)) > 1:
        raise Mistake(f"the model has one input, so give one file or none, not {len(files)}")
    return read_arrays(model, files, seed)


def read_input(file: Path, operand: Operand, pixels: Pixels) -> InputValue:
    """Read the file as a value of the operand; Mistake, which names both, if it does not fit."""
    with open(open_regular(file), "rb") as opened:
        is_array = opened.read(6) == b"\x93NUMPY"
    is_recording = is_sound(file)
    try:
        if is_array:
            array, conversion = read_array(file, operand.type, pixels)
        elif features := FEATURES.get(tuple(size for size in operand.type.dimensions if size > 1)):
            raise UnusableFile(
                f"the model expects {features}, which nnapi does not compute from sound; pass them as a .npy file"
            )
        elif is_recording:
            if pixels.is_chosen:
                raise Mistake("--range, --mean and --std need a picture, this is a recording")
            array, conversion = read_sound(file, operand.type)
        else:
            array, conversion = read_picture(file, operand.type, pixels)
    except Mistake as mistake:
        raise type(mistake)(f"{file.name} for {operand.label}: {mistake}") from None
    return InputValue(array, file.name, conversion, file, not is_array and not is_recording)


def random_input(operand: Operand, seed: int, *, is_empty: bool = False) -> InputValue:
    """Return values that depend only on the seed, the operand and NumPy. Unspecified dimensions become 1; with
    ``is_empty``, they are 0."""
    type = operand.type
    if not type.is_scalar and not type.rank:
        raise Mistake(f"{operand.label} has unknown rank: give a .npy file")
    generator = np.random.default_rng([seed, operand.index])
    shape = tuple(dimension or int(not is_empty) for dimension in type.dimensions)
    if type.dtype.kind == "f":
        array, conversion = generator.uniform(-1, 1, shape).astype(type.dtype), "values from -1 to 1"
    elif type.code in BOOLEANS:
        array, conversion = generator.integers(0, 2, shape).astype(type.dtype), "false and true"
    elif type.is_quantized:
        limits = np.iinfo(type.dtype)
        array = generator.integers(limits.min, limits.max, shape, endpoint=True).astype(type.dtype)
        conversion = f"quantized values from {limits.min} to {limits.max}"
    else:
        array, conversion = generator.integers(0, 10, shape).astype(type.dtype), "integers from 0 to 9"
    return InputValue(np.asarray(array), f"random input (seed {seed})", conversion)
