"""A model that is specialized for the input shapes of each run."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from nnapi.errors import BadDataError
from nnapi.model.lazy_model import LazyOperands
from nnapi.model.model import Lifetime, Model, Operand
from nnapi.model.operand import OperandType, Shape

Shapes = tuple[Shape, ...]
UNKNOWN = ("operations", "signature")


class DynamicModel(Model):
    """A finished model whose operations depend on the shapes of its inputs.

    ``describe`` returns the model for given shapes. :func:`nnapi.compile` accepts a dynamic model; reading its
    operations raises BadDataError, which names the dimensions to fix.
    """

    def __init__(
        self,
        name: str,
        inputs: Sequence[tuple[str, OperandType]],
        outputs: Sequence[tuple[str, OperandType]],
        describe: Callable[[Shapes], Model],
    ) -> None:
        super().__init__(name)
        operands = [
            Operand(index, type, each, Lifetime.INPUT if index < len(inputs) else Lifetime.OUTPUT)
            for index, (each, type) in enumerate((*inputs, *outputs))
        ]
        self.inputs = tuple(range(len(inputs)))
        self.outputs = tuple(range(len(inputs), len(operands)))
        self.operands = LazyOperands(operands, self._refuse)
        self.state.value = "finished"
        self.notes = ("it is compiled for the shapes of each run; load(shapes=…) or --shape fixes them",)
        self._describe = describe
        self.load_for: Callable[[Shapes, Callable[[], Model]], Model] = lambda shapes, read: read()
        """Gives the model for shapes from a cache, else by the function."""
        for attribute in UNKNOWN:
            del self.__dict__[attribute]

    def __getattr__(self, name: str) -> Any:
        if name in UNKNOWN:
            self._refuse()
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def specialize(self, shapes: Shapes, *, is_cached: bool = True) -> Model:
        """Return the model for inputs of these shapes, from the cache if it ``is_cached`` there; raises the errors of
        the import."""
        describe = partial(self._describe, shapes)
        return self.load_for(shapes, describe) if is_cached else describe()

    def _refuse(self) -> Sequence[Operand]:
        given = ", ".join(
            f"{each.name} [{', '.join(str(size or '?') for size in each.type.dimensions)}]"
            for each in map(self.operands.__getitem__, self.inputs)
            if not each.type.is_known
        )
        raise BadDataError(
            f"the operations of {self.name} depend on dimensions that only a run knows; "
            f"fix them by load(shapes=…) or --shape: {given}"
        )
