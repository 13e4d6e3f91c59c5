"""Names, shapes and dtypes of a model's inputs and outputs."""

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

import numpy as np

from nnapi.model.graph import Operand, Signature
from nnapi.model.operand import OperandType, Shape


class TensorInfo(NamedTuple):
    """An input or output.

    ``name`` comes from the file's signature, else from the operand, else it is ``input_0`` and so on. A dimension of 0
    in ``shape`` is unspecified. ``type`` has scale and zero point.
    """

    name: str
    shape: Shape
    dtype: np.dtype[Any]
    type: OperandType

    def __repr__(self) -> str:
        return f"TensorInfo({self.name!r}, {self.type})"


def describe_tensors(
    operands: Iterable[Operand], signature: Signature | None, role: Literal["input", "output"]
) -> tuple[TensorInfo, ...]:
    """Describe a model's inputs or outputs; repeated names are replaced by ``input_1`` and so on."""
    names = () if signature is None else signature.inputs if role == "input" else signature.outputs
    signed = {position: name for name, position in names}
    found: dict[str, TensorInfo] = {}
    for position, operand in enumerate(operands):
        name = signed.get(position) or operand.name
        if not name or name in found:
            name = f"{role}_{position}"
        found[name] = TensorInfo(name, operand.type.dimensions, operand.type.dtype, operand.type)
    return tuple(found.values())
