"""Runs that also return operands inside a model, for which the model is compiled again with those as outputs."""

from collections.abc import Callable, Sequence
from typing import Any

from nnapi.locks import make_lock
from nnapi.model.model import Model
from nnapi.model.operand import Array

Run = Callable[..., list[Array]]
Compile = Callable[[Model], Run]
"""Compiles a model; returns its ``run``."""


class Keeping:
    """The further compilations of a model, by the outputs that they have. Several threads may run."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._runs: dict[tuple[int, ...], Run] = {}
        self._lock = make_lock()

    def run(self, inputs: Sequence[Any], kept: Sequence[int], compile: Compile) -> list[Array]:
        """Return the model's outputs, followed by the operands with the indices ``kept``. ``compile`` is called for the
        first run that keeps these operands."""
        outputs = self._model.outputs
        wanted = tuple(dict.fromkeys((*outputs, *kept)))
        with self._lock:
            run = self._runs.get(wanted)
            if run is None:
                run = self._runs[wanted] = compile(self._describe(wanted))
        found = dict(zip(wanted, run(*inputs), strict=True))
        return [found[index] for index in (*outputs, *kept)]

    def clear(self) -> None:
        self._runs.clear()

    def _describe(self, wanted: Sequence[int]) -> Model:
        self._model.need_mapped()
        from nnapi.model.pickling import build, describe_with_outputs  # on demand: few programs look inside

        return build(Model, describe_with_outputs(self._model, wanted))
