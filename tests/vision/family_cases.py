"""Models without operations, for tests of families: shapes and names are all that these read."""

from __future__ import annotations

import nnapi
from nnapi.codes import OperationCode


def model_of(
    *outputs: tuple[str, tuple[int, ...]], picture: tuple[int, ...] = (1, 8, 8, 3), names: tuple[str, ...] = ()
) -> nnapi.Model:
    """A model between a picture and outputs of those types."""
    model = nnapi.Model()
    model.add_operand(nnapi.tensor("float32", picture), "image")
    for number, (dtype, dimensions) in enumerate(outputs):
        model.add_operand(nnapi.tensor(dtype, dimensions), names[number] if names else None)
    model.inputs, model.outputs = (0,), tuple(range(1, len(outputs) + 1))
    return model


def model_with_last(
    code: OperationCode, shape: tuple[int, ...], picture: tuple[int, ...] = (1, 8, 8, 3)
) -> nnapi.Model:
    """A model whose only operation of one tensor gives an output of that shape."""
    model = nnapi.Model()
    model.add_operand(nnapi.tensor("float32", (1, 8, 8, 3)), "image")
    model.add_operand(nnapi.tensor("float32", shape), "hidden")
    model.add_operand(nnapi.tensor("float32", shape), "output")
    model.add_operation(code, [1], [2])
    model.inputs, model.outputs = (0,), (2,)
    return model
