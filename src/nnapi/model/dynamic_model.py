"""A model that is specialized for the input shapes of each run."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from nnapi.errors import BadDataError
from nnapi.model.lazy_model import LazyModel
from nnapi.model.model import Lifetime, Model, Operand
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.precision import Precision

if TYPE_CHECKING:
    from nnapi.shapes.symbols import Symbols

Shapes = tuple[Shape, ...]
PaddedModel = tuple[Model, Callable[[Shapes], list[Array]]]
"""A model, and a function that returns its further inputs for the shapes of a run."""

DescribePadded = Callable[[Shapes, Shapes], PaddedModel | None]
"""Returns the model for padded shapes and those of a run; None if it has no further inputs."""


class SizedModel(NamedTuple):
    """A model whose dimensions are sizes (:mod:`nnapi.shapes`), for all sizes that keep guards."""

    model: Model
    """Its further inputs are the constants that depend on sizes."""
    symbols: "Symbols"
    """Record the guards of a driver."""
    find_further: Callable[[Shapes], list[Array]]
    """Returns the further inputs for the shapes of a run."""
    find_broken: Callable[[Shapes], str]
    """Returns the guard that the shapes of a run break, of the import or of a driver; empty if none."""


DescribeSized = Callable[[Shapes], SizedModel | None]
"""Returns the model that holds for the shapes of a run and others; None if none holds."""


class OtherImportError(BadDataError):
    """The sizes of a run need another import than the padded sizes."""


def explain_imports(reasons: Sequence[str]) -> str:
    """Describe why a file was imported again, a line for each reason."""
    return "".join(f"\nimported again, because {reason}" for reason in dict.fromkeys(reasons))


class DynamicModel(LazyModel):
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
        describe_padded: DescribePadded = lambda padded, run: None,
        describe_sized: DescribeSized = lambda run: None,
    ) -> None:
        ends = [
            Operand(index, type, each, Lifetime.INPUT if index < len(inputs) else Lifetime.OUTPUT)
            for index, (each, type) in enumerate((*inputs, *outputs))
        ]
        super().__init__(name, ends[: len(inputs)], ends[len(inputs) :], partial(_refuse, name, ends[: len(inputs)]))
        self.precision, self.states = Precision.FLOAT32, ()
        self.notes = ("it is compiled for the shapes of each run; load(shapes=…) or --shape fixes them",)
        self._describe_for = describe
        self.describe_padded = describe_padded
        """Returns the model for padded inputs, with the constants that padding must not change as further inputs; None
        if it has none."""
        self.describe_sized = describe_sized
        """Returns the model whose dimensions are sizes; None if it has none."""
        self.reimports: Sequence[str] = ()
        """Why an import for some sizes did not hold for others."""
        self.load_for: Callable[[Shapes, Callable[[], Model]], Model] = lambda shapes, read: read()
        """Returns the model for shapes: from a cache, or by calling ``read``."""

    def need_mapped(self) -> None:
        _refuse(self.name, [self.operands[index] for index in self.inputs])

    def specialize(self, shapes: Shapes, *, is_cached: bool = True) -> Model:
        """Return the model for these input shapes, from the cache if it ``is_cached`` and has an entry; raise the
        errors of the import."""
        describe = partial(self._describe_for, shapes)
        return self.load_for(shapes, describe) if is_cached else describe()


def _refuse(name: str, inputs: Sequence[Operand]) -> NoReturn:
    given = ", ".join(
        f"{each.name} [{', '.join(str(size or '?') for size in each.type.dimensions)}]"
        for each in inputs
        if not each.type.is_known
    )
    raise BadDataError(
        f"the operations of {name} depend on dimensions that only a run knows; "
        f"fix them by load(shapes=…) or --shape: {given}"
    )
