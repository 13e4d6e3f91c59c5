"""The delegate: it chooses the nodes of a graph to claim, and explains why it leaves others."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from nnapi.capi._bridge import ffi
from nnapi.delegate.graph import LiteRtGraph, list_integers
from nnapi.delegate.partition import NodeSubset, NotClaimed, Partition, convert, need_enough_work, need_fast_engines
from nnapi.delegate.settings import DelegateSettings
from nnapi.errors import OpFailedError, need

log = logging.getLogger("nnapi.Delegate")


class Delegate:
    """A delegate with its options; any number of interpreters may share it."""

    def __init__(self, settings: DelegateSettings) -> None:
        self._settings = settings
        self._partitions: dict[tuple[int, tuple[int, ...]], Partition] = {}
        """Partitions compiled by :meth:`choose` that LiteRT has not opened yet, by context and nodes."""

    def choose(self, context: Any) -> Sequence[int]:
        """Return the numbers of the nodes to claim; their partitions are compiled."""
        plan = ffi.new("TfLiteIntArray**")
        need(not context.GetExecutionPlan(context, plan), "LiteRT does not give its execution plan", OpFailedError)
        graph = LiteRtGraph(context, list_integers(plan[0]))
        left = dict(graph.left)
        while True:
            claimed = [node.number for node in graph.nodes if node.number not in left]
            try:
                partitions = self._compile(graph, _list_subsets(context, claimed), context)
                break
            except NotClaimed as error:
                left.update(error.reasons)
        self._partitions |= {(_address(context), subset.nodes): made for subset, made in partitions.items()}
        self._report(graph, left, list(partitions.values()))
        return claimed

    def open_part(self, context: Any, params: Any) -> Partition:
        """Return the compiled partition for ``params``, a TfLiteDelegateParams."""
        return self._partitions.pop((_address(context), NodeSubset.of(params).nodes))

    def close(self) -> None:
        while self._partitions:
            self._partitions.popitem()[1].close()

    def _compile(self, graph: LiteRtGraph, subsets: Sequence[NodeSubset], context: Any) -> dict[NodeSubset, Partition]:
        """Compile all subsets; raise NotClaimed with the reasons of all nodes that cannot be claimed."""
        models, reasons = {}, dict[int, str]()
        engines = self._settings.list_engines()
        for subset in subsets:
            try:
                models[subset] = convert(graph, subset)
                if engines and len(subsets) > 1:
                    need_enough_work(subset, models[subset])
            except NotClaimed as error:
                reasons |= error.reasons
        partitions: dict[NodeSubset, Partition] = {}
        threads = max(0, context.recommended_num_threads) or None  # negative: the program has set none
        for subset, model in ({} if reasons else models).items():
            try:
                partitions[subset] = Partition(graph, subset, model, self._settings, threads)
                need_fast_engines(graph, subset, partitions[subset], engines)
            except NotClaimed as error:
                reasons |= error.reasons
        if reasons:
            for partition in partitions.values():
                partition.close()
            raise NotClaimed(reasons)
        return partitions

    def _report(self, graph: LiteRtGraph, left: Mapping[int, str], partitions: Sequence[Partition]) -> None:
        lines = [
            f"{len(graph.nodes) - len(left)} of {len(graph.nodes)} operators run here, in {len(partitions)} partitions",
            *_explain_left(graph, left),
        ]
        for line in lines:
            log.info("%s", line)
        if self._settings.explain:
            plans = [f"part {number}\n{part.explain()}" for number, part in enumerate(partitions, 1)]
            with open(self._settings.explain, "a", encoding="utf-8") as file:
                file.write("\n\n".join(["\n".join(lines), *plans]) + "\n\n")


def _list_subsets(context: Any, claimed: Sequence[int]) -> list[NodeSubset]:
    """List the partitions that LiteRT would make of the claimed nodes (PreviewDelegatePartitioning)."""
    if not claimed:
        return []
    params, count = ffi.new("TfLiteDelegateParams**"), ffi.new("int*")
    nodes = ffi.new("TfLiteIntArray*", [len(claimed), list(claimed)])
    failed = context.PreviewDelegatePartitioning(context, nodes, params, count)
    need(not failed, "LiteRT finds no partitions", OpFailedError)
    return [NodeSubset.of(params[0][index]) for index in range(count[0])]


def _explain_left(graph: LiteRtGraph, left: Mapping[int, str]) -> Iterator[str]:
    """Yield a line for all nodes left to LiteRT that have the same kind and reason."""
    reasons = sorted((node.kind, left[node.number]) for node in graph.nodes if node.number in left)
    for (kind, reason), same in groupby(reasons):
        count = len(list(same))
        yield f"left to LiteRT: {kind}{f' ×{count}' if count > 1 else ''}: {reason}"


def _address(context: Any) -> int:
    return int(ffi.cast("uintptr_t", context))
