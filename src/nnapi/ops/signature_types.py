"""Types in signatures: operand codes with the first feature level of each."""

from nnapi.codes import OperandCode as O
from nnapi.model.parameter import Levels

FLOAT32, FLOAT16, INT32 = O.TENSOR_FLOAT32, O.TENSOR_FLOAT16, O.TENSOR_INT32
QUANT8, QUANT8_SIGNED = O.TENSOR_QUANT8_ASYMM, O.TENSOR_QUANT8_ASYMM_SIGNED
QUANT8_SYMM, PER_CHANNEL = O.TENSOR_QUANT8_SYMM, O.TENSOR_QUANT8_SYMM_PER_CHANNEL
QUANT16, QUANT16_SYMM, BOOL8 = O.TENSOR_QUANT16_ASYMM, O.TENSOR_QUANT16_SYMM, O.TENSOR_BOOL8


def floats(level: int = 1) -> dict[int, int]:
    return {FLOAT32: level, FLOAT16: max(level, 3)}


def reals(level: int = 1, quant8: int = 1) -> dict[int, int]:
    """Return floats from ``level``, unsigned 8-bit values from level ``quant8``, and signed ones from level 4."""
    return floats(level) | {QUANT8: max(level, quant8), QUANT8_SIGNED: max(level, 4)}


def numbers(level: int = 1, quant8: int = 1, int32: int = 4) -> dict[int, int]:
    return reals(level, quant8) | {INT32: int32}


FLOAT_SCALAR: dict[int, int | Levels] = {
    FLOAT32: O.FLOAT32,
    FLOAT16: O.FLOAT16,
    QUANT8: O.FLOAT32,
    QUANT8_SIGNED: O.FLOAT32,
    INT32: O.FLOAT32,
    QUANT16: O.FLOAT32,
}

FILTER: dict[int, int | Levels] = {
    FLOAT32: FLOAT32,
    FLOAT16: FLOAT16,
    QUANT8: {QUANT8: 1, PER_CHANNEL: 3},
    QUANT8_SIGNED: {QUANT8_SIGNED: 4, PER_CHANNEL: 4},
}

BIAS: dict[int, int | Levels] = {FLOAT32: FLOAT32, FLOAT16: FLOAT16, QUANT8: INT32, QUANT8_SIGNED: INT32}

# Scales and zero points of outputs that operations require.
UNIT_INTERVAL: dict[int, tuple[float, int]] = {QUANT8: (1 / 256, 0), QUANT8_SIGNED: (1 / 256, -128)}
SIGNED_UNIT: dict[int, tuple[float, int]] = {QUANT8: (1 / 128, 128), QUANT8_SIGNED: (1 / 128, 0)}
