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
    given = list(operands)
    names = name_tensors((operand.name for operand in given), signature, role)
    types = ((name, operand.type) for name, operand in zip(names, given, strict=True))
    return tuple(TensorInfo(name, type.dimensions, type.dtype, type) for name, type in types)


def name_tensors(names: Iterable[str], signature: Signature | None, role: Literal["input", "output"]) -> list[str]:
    """Return the names of :class:`TensorInfo` for the operands' ``names``."""
    signed = () if signature is None else signature.inputs if role == "input" else signature.outputs
    by_position = {position: name for name, position in signed}
    found: dict[str, None] = {}
    for position, name in enumerate(names):
        chosen = by_position.get(position) or name
        found[chosen if chosen and chosen not in found else f"{role}_{position}"] = None
    return [*found]
