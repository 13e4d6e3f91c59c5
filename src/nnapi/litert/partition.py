"""The division of a subgraph between this library and LiteRT, into as few partitions as dependencies allow."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from nnapi.formats.tflite.reader import Subgraph
from nnapi.litert.subgraph_file import Partition, has_type

SHARED_STATE = "RESOURCE", "VARIANT"
"""Types of tensors for state that only one interpreter can hold."""


def find_foreign(graph: Subgraph) -> set[int]:
    """Find the operators with tensors of types that NNAPI lacks; all operators if some share state by such tensors."""
    used = [[*operator.inputs, *operator.outputs] for operator in graph.operators]
    if any(tensor.type in SHARED_STATE for tensor in graph.tensors):
        return set(range(len(used)))
    return {
        number
        for number, tensors in enumerate(used)
        if any(index >= 0 and not graph.tensors[index].region and not has_type(graph, index) for index in tensors)
    }


def partition(graph: Subgraph, foreign: Collection[int], *, all_tensors: bool = False) -> list[tuple[Partition, bool]]:
    """Divide the subgraph into partitions in running order, each with whether it has the ``foreign`` operators."""
    stages = _stage(graph, foreign)
    groups = {stage: [number for number, each in enumerate(stages) if each == stage] for stage in sorted(set(stages))}
    return [(_describe(graph, numbers, all_tensors), bool(stage % 2)) for stage, numbers in groups.items()]


def _stage(graph: Subgraph, foreign: Collection[int]) -> list[int]:
    """Return the stage of each operator: even here, odd in LiteRT, never before its dependencies."""
    written: dict[int, int] = {}
    stages = []
    for number, operator in enumerate(graph.operators):
        stage = max((written[index] for index in operator.inputs if index in written), default=0)
        stage += (stage % 2) != (number in foreign)
        stages.append(stage)
        written.update(dict.fromkeys(operator.outputs, stage))
    return stages


def _describe(graph: Subgraph, numbers: list[int], all_tensors: bool) -> Partition:
    """Return operators as a partition, with the tensors that they exchange with others."""
    inside = set(numbers)
    own = [graph.operators[number] for number in numbers]
    others = [operator for number, operator in enumerate(graph.operators) if number not in inside]
    written = _in_order(index for operator in own for index in operator.outputs)
    wanted = {*graph.outputs, *(index for operator in others for index in operator.inputs)}
    given = {*graph.inputs, *(index for operator in others for index in operator.outputs)}
    read = _in_order(index for operator in own for index in operator.inputs)
    return Partition(
        numbers,
        tuple(index for index in read if index in given),
        tuple(index for index in written if all_tensors or index in wanted),
    )


def _in_order(indices: Iterable[int]) -> list[int]:
    return [index for index in dict.fromkeys(indices) if index >= 0]
