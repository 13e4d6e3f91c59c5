"""A subgraph that LiteRT runs with the NNAPI delegate, because NNAPI cannot express all of it."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import mkstemp
from typing import Any
from weakref import finalize

import numpy as np
from ai_edge_litert import interpreter as litert

from nnapi.litert.delegates import delegate_path
from nnapi.model.operand import Array


class DelegatedGraph:
    """A subgraph run by LiteRT, with the interface of a :class:`CompiledSubgraph`."""

    devices = frozenset({"LiteRT"})

    def __init__(
        self,
        make_interpreter: Callable[[list[Any]], Any],
        options: Mapping[str, Any],
        subgraph: int,
        inputs: Sequence[int],
        outputs: Sequence[int],
        reason: str,
    ) -> None:
        """``make_interpreter`` takes a list of delegates; ``options`` are those of the NNAPI delegate. ``reason`` says
        why NNAPI does not run the subgraph alone. RuntimeError if LiteRT cannot run it."""
        self._subgraph, self._reason = subgraph, reason
        handle, self._report = mkstemp("nnapi")
        os.close(handle)
        finalize(self, os.unlink, self._report)
        try:
            delegate = litert.load_delegate(delegate_path(), {**options, "explain": self._report})
            self._interpreter = make_interpreter([delegate])
        except (OSError, RuntimeError, ValueError) as error:
            self._reason += f"\nLiteRT runs all operators, as it cannot use the delegate: {error}"
            self._interpreter = make_interpreter([])
        self._native = self._interpreter._interpreter
        self.inputs = {index: self._make_zeros(index) for index in inputs}
        self.positions = {index: position for position, index in enumerate(outputs)}
        self.results = [self._make_zeros(index) for index in outputs]

    def run(self) -> list[Array]:
        for index, array in self.inputs.items():
            self._native.SetTensor(index, array, self._subgraph)
        self._native.Invoke(self._subgraph)
        return [self._native.GetTensor(index, self._subgraph) for index in self.positions]

    def _make_zeros(self, index: int) -> Array:
        return np.zeros(self._native.TensorSize(index, self._subgraph), self._native.TensorType(index, self._subgraph))

    def reset(self) -> None:
        self._native.ResetVariableTensors()

    def explain(self) -> str:
        return f"{Path(self._report).read_text(encoding='utf-8')}{self._reason}"

    def close(self) -> None:
        self._interpreter = self._native = None
