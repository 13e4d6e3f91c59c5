"""A model whose operations depend on sizes that only a run knows: it is described for each combination of shapes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nnapi.errors import BadDataError
from nnapi.model.lazy_model import LazyOperands
from nnapi.model.model import Lifetime, Model, Operand
from nnapi.model.operand import OperandType, Shape

Shapes = tuple[Shape, ...]
"""The dimensions of every input, in the order of the model's inputs."""
UNKNOWN = ("operations", "signature")
"""Attributes that only a specialized model has."""


class DynamicModel(Model):
    """A finished model of which the inputs and outputs are known, and all else once the inputs have shapes.

    ``describe`` gives the model for shapes of its inputs. :func:`nnapi.compile` takes a dynamic model; whatever else
    asks for its operations gets BadDataError, which says how to fix dimensions.
    """

    def __init__(
        self,
        name: str,
        inputs: Sequence[tuple[str, OperandType]],
        outputs: Sequence[tuple[str, OperandType]],
        describe: Callable[[Shapes], Model],
    ) -> None:
        super().__init__(name)
        ends = [
            Operand(index, type, end, Lifetime.INPUT if index < len(inputs) else Lifetime.OUTPUT)
            for index, (end, type) in enumerate((*inputs, *outputs))
        ]
        self.inputs = tuple(range(len(inputs)))
        self.outputs = tuple(range(len(inputs), len(ends)))
        self.operands = LazyOperands(ends, self._refuse)
        self.state.value = "finished"
        self.notes = ("it is compiled for the shapes of each run; load(shapes=…) fixes them",)
        self._describe = describe
        for attribute in UNKNOWN:
            del self.__dict__[attribute]

    def __getattr__(self, name: str) -> Any:
        if name in UNKNOWN:
            self._refuse()
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def specialize(self, shapes: Shapes) -> Model:
        """Return the model for inputs of these shapes; raises what importing the file for them raises."""
        return self._describe(shapes)

    def _refuse(self) -> Sequence[Operand]:
        ends = [self.operands[index] for index in self.inputs]
        given = ", ".join(
            f"{end.name} [{', '.join(str(size or '?') for size in end.type.dimensions)}]"
            for end in ends
            if not end.type.is_known
        )
        raise BadDataError(
            f"the operations of {self.name} depend on dimensions that only a run knows; "
            f"fix them by load(shapes=…): {given}"
        )
