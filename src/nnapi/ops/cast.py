"""CAST: the elements converted to another type, without their quantization."""

import numpy as np

from nnapi.codes import OperationCode
from nnapi.errors import BadDataError, need
from nnapi.model.call import Call
from nnapi.model.facts import Facts, Kind, Trait
from nnapi.model.operand import Array, OperandType
from nnapi.model.operation import Operation
from nnapi.model.parameter import Levels, Tensor
from nnapi.ops.shapes import same_shape
from nnapi.ops.types import BOOL8, FLOAT16, FLOAT32, INT32, QUANT8, QUANT8_SIGNED, QUANT8_SYMM, QUANT16, QUANT16_SYMM

CONVERTED: Levels = dict.fromkeys((FLOAT16, FLOAT32, INT32, QUANT8), 3)
COPIED: Levels = dict.fromkeys((BOOL8, QUANT16, QUANT16_SYMM, QUANT8_SIGNED, QUANT8_SYMM), 4)

CAST = Operation(
    OperationCode.CAST,
    facts=Facts(Kind.ELEMENTWISE, Trait.FOLDS | Trait.RESTATES | Trait.CHOOSES | Trait.STEPS),
    inputs=(Tensor("input", {**CONVERTED, **COPIED}),),
    outputs=(
        Tensor(
            "out",
            like="input",
            via={**dict.fromkeys(CONVERTED, CONVERTED), **{code: {code: level} for code, level in COPIED.items()}},
        ),
    ),
    failure=BadDataError,
)


CAST.shape(same_shape)


@CAST.check
def fits_input(input: OperandType, out: OperandType) -> None:
    need(
        not (input.is_known and out.is_known) or input.shape == out.shape,
        f"out has shape {list(out.shape)}, must have that of input, {list(input.shape)}",
        BadDataError,
    )


@CAST.kernel(kind="exact")
def cast(call: Call, input: Array) -> Array:
    dtype = call.results[0].dtype
    if input.dtype == dtype or dtype.kind == "f":
        return input.astype(dtype)
    limits = np.iinfo(dtype)  # outside is C's undefined behavior for int32, saturated for quantized values: saturate
    return np.clip(np.nan_to_num(input.astype(np.float64)), limits.min, limits.max).astype(dtype)
