"""The compilation of a model with dynamic inputs: one compilation for each combination of shapes."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from nnapi.errors import BadDataError, need_value
from nnapi.model.dynamic_model import DescribePadded, DynamicModel, Shapes, explain_imports
from nnapi.model.model import Model
from nnapi.model.operand import Array
from nnapi.runtime.compilation import Compilation
from nnapi.runtime.event import Result
from nnapi.runtime.executors.active_plan import ActivePlan
from nnapi.runtime.inputs import check_inputs
from nnapi.runtime.padded_lengths import Further
from nnapi.runtime.specializations import Specializations


class DynamicCompilation(Compilation):
    """A compilation that is specialized at the first run of each combination of shapes; the latest few are cached.

    If inputs grow by one at each run and a mask makes padding exact, one compilation serves many lengths.
    """

    def __init__(
        self, model: Model, compile: Callable[[Model, str | None], Compilation], *, in_buckets: bool = False
    ) -> None:
        """``compile`` gets a model and the name of the only device to ask, or None for all. With ``in_buckets``,
        lengths are padded to multiples of 64."""
        super().__init__(model)
        declared = tuple(model.operands[index].type.dimensions for index in model.inputs)

        def compile_for(shapes: Shapes, device: str | None, is_cached: bool) -> Compilation:
            """Compile the model for shapes, or unchanged if NNAPI can express its dynamic dimensions."""
            if isinstance(model, DynamicModel):
                return compile(model.specialize(shapes, is_cached=is_cached), device)
            return compile(model, device)

        if isinstance(model, DynamicModel):
            padded = partial(compile_padded, model.describe_padded, compile)
            self._specializations = Specializations(
                compile_for, declared if in_buckets else None, padded, model.describe_sized
            )
        else:
            self._specializations = Specializations(compile_for, declared if in_buckets else None)
        self.state.value = "ready"

    def at(self, shapes: Shapes) -> Compilation:
        """Return the compilation for input ``shapes``; compile at first use."""
        self.state.need("ready")
        return self._specializations.at(shapes)

    def run(self, *inputs: Any, keep: Sequence[str | int] = ()) -> list[Array]:
        """Run as :meth:`Compilation.run`, on any ``inputs`` that fit the model's dimensions; ``keep`` is as there."""
        self.state.need("ready")
        arrays = self._check(inputs)
        if keep:
            return self.at(tuple(array.shape for array in arrays)).run(*arrays, keep=keep)
        return self._specializations.run(arrays)

    def start(self, *inputs: Any) -> Result:
        """Run as :meth:`Compilation.start` on ``inputs``; new shapes are compiled before this returns."""
        arrays = self._check(inputs)
        return self.at(tuple(array.shape for array in arrays)).start(*arrays)

    def explain(self) -> str:
        """Explain each specialization: time to compile, number of runs, and where its operations run."""
        found = self._specializations.explain() or f"{self.model.name} is compiled at the first run of each shape"
        return found + explain_imports(self.model.reimports if isinstance(self.model, DynamicModel) else ())

    def close(self) -> None:
        """Free every specialization."""
        super().close()
        self._specializations.clear()

    def _check(self, inputs: Sequence[Any]) -> list[Array]:
        operands = [self.model.operands[index] for index in self.model.inputs]
        return [
            need_value(array, f"{operand} of a dynamic model is omitted", BadDataError)
            for operand, array in zip(operands, check_inputs(self.model, inputs), strict=True)
        ]

    def need_active(self) -> ActivePlan:
        """Raise BadDataError, as there is one plan for each combination of shapes."""
        self.state.need("ready")
        raise BadDataError(
            f"{self.model.name} is compiled for the shapes of each run: "
            "ask at(shapes), or fix its dimensions by load(shapes=…) or --shape"
        )


def compile_padded(
    describe: DescribePadded,
    compile: Callable[[Model, str | None], Compilation],
    padded: Shapes,
    run: Shapes,
    device: str | None,
) -> tuple[Compilation, Further] | None:
    """Compile the model that ``describe`` returns for padded shapes; None if it returns none."""
    found = describe(padded, run)
    if found is None:
        return None
    model, further = found
    further(run)  # raises OtherImportError before the compilation
    return compile(model, device), further
