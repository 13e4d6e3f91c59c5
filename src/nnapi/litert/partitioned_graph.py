"""A subgraph in partitions: LiteRT computes those that NNAPI cannot express."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from nnapi.litert.ready_graph import ReadyGraph, Tensor
from nnapi.litert.subgraph_file import Partition
from nnapi.model.operand import Array


class LiteRtPartition:
    """A partition that LiteRT computes, with the interface of :class:`ReadyGraph`."""

    devices = frozenset({"LiteRT"})

    def __init__(
        self, native: Any, part: Partition, subgraph: int, kinds: Sequence[str], shapes: Mapping[int, Any]
    ) -> None:
        """``native`` is LiteRT's interpreter of a file with the partition alone."""
        self._native, self._part, self._subgraph, self._kinds = native, part, subgraph, kinds
        for index in part.inputs:
            self._native.ResizeInputTensor(index, np.array(shapes[index], np.int32), False, subgraph)
        native.AllocateTensors(subgraph)

    def compute(self, values: dict[int, Array]) -> None:
        """Read and write values by tensor index."""
        native, subgraph, stale = self._native, self._subgraph, False
        for index in self._part.inputs:
            if values[index].shape != tuple(native.TensorSize(index, subgraph)):
                native.ResizeInputTensor(index, np.array(values[index].shape, np.int32), False, subgraph)
                stale = True
        if stale:
            native.AllocateTensors(subgraph)
        for index in self._part.inputs:
            native.SetTensor(index, values[index], subgraph)
        native.Invoke(subgraph)
        values.update((index, native.GetTensor(index, subgraph)) for index in self._part.outputs)

    def reset(self) -> None:
        self._native.ResetVariableTensors()

    def explain(self) -> str:
        runs = ((kind, len(list(same))) for kind, same in groupby(self._kinds))
        return "LiteRT: " + ", ".join(f"{kind} ×{count}" if count > 1 else kind for kind, count in runs)

    def close(self) -> None:
        self._native = None


class PartitionedGraph:
    """Partitions that run one after the other, as a :class:`ReadyGraph`."""

    def __init__(
        self,
        parts: Sequence[LiteRtPartition | ReadyGraph],
        inputs: Sequence[Tensor],
        outputs: Sequence[Tensor],
        reason: str,
    ) -> None:
        """``reason`` explains why LiteRT computes some of it."""
        self._parts, self._reason = parts, reason
        self.inputs: dict[int, Array] = {tensor.number: np.zeros(tensor.shape, tensor.dtype) for tensor in inputs}
        self.positions = {tensor.number: position for position, tensor in enumerate(outputs)}
        self.results: list[Array] = [np.zeros(tensor.shape, tensor.dtype) for tensor in outputs]
        self.run: Callable[[], list[Array]] = self._run

    def _run(self) -> list[Array]:
        values = dict(self.inputs)
        for part in self._parts:
            part.compute(values)
        return [values[index] for index in self.positions]

    @property
    def devices(self) -> set[str]:
        return {name for part in self._parts for name in part.devices}

    def reset(self) -> None:
        for part in self._parts:
            part.reset()

    def explain(self) -> str:
        parts = (f"part {number}\n{part.explain()}" for number, part in enumerate(self._parts, 1))
        return "\n\n".join((*parts, self._reason))

    def close(self) -> None:
        for part in self._parts:
            part.close()
