"""Find the float values that a model's input has for black and white."""

from dataclasses import replace

import numpy as np

from nnapi.codes import OperationCode
from nnapi.errors import Mistake
from nnapi.model.facts import Trait
from nnapi.model.model import Model, Operand, OperationCall
from nnapi.model.operand import OperandType
from nnapi.model.operation import REGISTRY
from nnapi.operation_codes import Code, CompositeCode
from nnapi.ops.quantized_values import dequantize
from nnapi.vision.families.family import Family
from nnapi.vision.families.images import find_limits
from nnapi.vision.pictures import FLOATS, Pixels, find_layout
from nnapi.vision.task import Task

RANGES = ((0.0, 1.0), (-1.0, 1.0), (0.0, 255.0), (-128.0, 127.0))
NEAR = 0.02
"""Tolerance of a range, as a fraction of it."""
IMAGENET = Pixels((123.675, 116.28, 103.53), (58.395, 57.12, 57.375))
"""ImageNet's mean and standard deviation, by which PyTorch's networks normalize pictures."""
IMAGENET_LIMITS = (-2.118, 2.64)
BRIGHT = 20.0
"""Inputs with at least this mean hold pixels 0 to 255; inputs scaled to 1 have a mean of about 0.5."""
HALF = (0.25, 0.8)
"""Limits of the mean of an input that is scaled to 0 to 1."""
NOTHING = "guessed: the file does not state the range; --range sets it"


def find_pixels(model: Model, given: Pixels, family: Family | None) -> Pixels:
    """Return how pictures become the model's input; ``given`` is from its metadata.

    The first that exists decides: metadata; the quantization of the input or of the first operation; the family; then
    guesses from the limits of an output picture or the first convolution; -1 to 1.
    """
    operand = _find_picture_input(model)
    if operand is None:
        return Pixels()
    chosen = _choose(model, operand, given, family)
    if family is None:
        return chosen
    return replace(family.pixels, mean=chosen.mean, std=chosen.std, reason=chosen.reason)


def _find_picture_input(model: Model) -> Operand | None:
    for index in model.inputs:
        try:
            find_layout(model.operands[index].type)
        except Mistake:
            continue
        return model.operands[index]
    return None


def _choose(model: Model, operand: Operand, given: Pixels, family: Family | None) -> Pixels:
    if operand.type.code not in FLOATS:
        return _from_quantization(operand.type)
    if given.is_given:
        return replace(given, reason="as the file says")
    if (quantized := _quantized_at_once(model, operand.index)) is not None:
        return _as_floats(quantized)
    if family and family.pixels.is_given:
        return replace(family.pixels, reason=f"usual for {family.name}")
    return _guess(model, operand, family)


def stored_limits(type: OperandType) -> tuple[float, float]:
    info = np.iinfo(type.dtype)
    return (info.min - type.zero_point) * type.scale, (info.max - type.zero_point) * type.scale


def _is_near(low: float, high: float, limits: tuple[float, float]) -> bool:
    return max(abs(limits[0] - low), abs(limits[1] - high)) <= NEAR * (high - low)


def _nearest(low: float, high: float) -> tuple[float, float] | None:
    return next((each for each in RANGES if _is_near(low, high, each)), None)


def _from_quantization(type: OperandType) -> Pixels:
    if type.dtype.itemsize > 1:
        return Pixels(reason=NOTHING)
    low, high = stored_limits(type)
    if _is_near(low, high, IMAGENET_LIMITS):
        return replace(IMAGENET, reason="ImageNet's mean and deviation, as the input's quantization shows")
    if _nearest(low, high):
        return Pixels()
    return Pixels(reason=f"guessed: the input stores {low:.3g} to {high:.3g}, not a usual range; --range sets another")


def _as_floats(type: OperandType) -> Pixels:
    low, high = stored_limits(type)
    if _is_near(low, high, IMAGENET_LIMITS):
        return replace(IMAGENET, reason="ImageNet's mean and deviation, as its first operation's quantization shows")
    low, high = _nearest(low, high) or (low, high)
    return Pixels.of_range(low, high, "as its first operation quantizes them")


def _find_reader(model: Model, index: int, *codes: Code) -> OperationCall | None:
    """Return the only reader of an operand if it has one of the codes; skip up to three that move or pad it."""
    for _ in range(4):
        readers = [call for call in model.operations if index in call.inputs]
        if len(readers) != 1 or readers[0].code in codes:
            return readers[0] if len(readers) == 1 else None
        declared = REGISTRY.get(readers[0].code)
        if declared is None or not (declared.does(Trait.MOVES) or declared.does(Trait.RESTATES)):
            return None
        index = readers[0].outputs[0]
    return None


def _quantized_at_once(model: Model, index: int) -> OperandType | None:
    call = _find_reader(model, index, OperationCode.QUANTIZE, CompositeCode.QUANTIZE_TO_EVEN)
    type = model.operands[call.outputs[0]].type if call else None
    return type if type and type.dtype.itemsize == 1 else None


def _guess(model: Model, operand: Operand, family: Family | None) -> Pixels:
    if family and family.task is Task.IMAGE and (limits := find_limits(model)):
        return Pixels.of_range(*limits, "guessed: the output picture has this range")
    mean = mean_of_input(model, operand.index)
    if mean is not None and mean > BRIGHT:
        return Pixels.of_range(0, 255, f"guessed: the first convolution suits pixels with a mean of {mean:.0f}")
    if mean is not None and HALF[0] < mean < HALF[1]:
        return Pixels.of_range(0, 1, f"guessed: the first convolution suits pixels with a mean of {mean:.2g}")
    return Pixels.of_range(-1, 1, NOTHING)


def mean_of_input(model: Model, index: int) -> float | None:
    """Estimate the mean of the training inputs from the first convolution; None if there is none.

    Batch normalization, folded into the biases, centers the filters' results. So the mean is the gray value for which
    filter sums and biases cancel best, by least squares.
    """
    call = _find_reader(model, index, OperationCode.CONV_2D)
    if call is None:
        return None
    filters, biases = (model.operands[i] for i in call.inputs[1:3])
    if filters.value is None or biases.value is None or biases.type.code not in FLOATS:
        return None
    weights = dequantize(filters.type, filters.value) if filters.type.is_quantized else filters.value
    sums = weights.astype(np.float64).sum((1, 2, 3))
    square = float(sums @ sums)
    return -float(sums @ biases.value.astype(np.float64)) / square if square else None
