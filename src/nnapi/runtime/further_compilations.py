"""Further compilations of a compilation's model: with operands inside as outputs, and with its states as inputs and
outputs."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from nnapi.locks import make_lock
from nnapi.model.model import Model
from nnapi.model.operand import Array

if TYPE_CHECKING:
    from nnapi.runtime.states import Closing, StatefulBurst, StatefulBursts

Run = Callable[..., list[Array]]


class FurtherCompilation(Protocol):
    """The part of a compilation that these runs use."""

    @property
    def run(self) -> Run: ...


Compile = Callable[[Model], FurtherCompilation]


class CompilesAgain(Protocol):
    """The part of a compilation that opens bursts with states."""

    def need_active(self) -> object: ...
    def compile_again(self, model: Model, variant: bytes) -> "Closing": ...


class FurtherCompilations:
    """The further compilations of a model, by the outputs that they have. Several threads may run."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._runs: dict[tuple[int, ...], Run] = {}
        self._stateful: StatefulBursts | None = None
        self._lock = make_lock()

    def run(self, inputs: Sequence[Any], kept: Sequence[int], compile: Compile) -> list[Array]:
        """Return the model's outputs, followed by the operands with the indices ``kept``. ``compile`` is called for the
        first run that keeps these operands."""
        outputs = self._model.outputs
        wanted = tuple(dict.fromkeys((*outputs, *kept)))
        with self._lock:
            run = self._runs.get(wanted)
            if run is None:
                run = self._runs[wanted] = compile(self._describe(wanted)).run
        found = dict(zip(wanted, run(*inputs), strict=True))
        return [found[index] for index in (*outputs, *kept)]

    def open_burst(self, compilation: CompilesAgain, *, borrow: bool) -> "StatefulBurst":
        """Open a burst that keeps the states of the compilation's model."""
        from nnapi.runtime.states import StatefulBursts  # on demand: few models have states

        compilation.need_active()
        with self._lock:
            if self._stateful is None:
                self._stateful = StatefulBursts(self._model, compilation.compile_again)
            return self._stateful.open(borrow)

    def clear(self) -> None:
        stateful, self._stateful = self._stateful, None
        self._runs.clear()
        if stateful is not None:
            stateful.close()

    def _describe(self, wanted: Sequence[int]) -> Model:
        self._model.need_mapped()
        from nnapi.model.pickling import build, describe_with_outputs  # on demand: few programs look inside

        return build(Model, describe_with_outputs(self._model, wanted))
