"""A delegate: the nodes of a graph that it claims, and the reasons for the others."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from nnapi.capi._bridge import ffi
from nnapi.delegate.graph import LiteRtGraph, list_integers
from nnapi.delegate.part import NotOurs, Part, Share, check_speed, check_work, convert
from nnapi.delegate.settings import Settings
from nnapi.errors import OpFailedError, need

log = logging.getLogger("nnapi.Delegate")


class Delegate:
    """A loaded delegate, shared by any number of interpreters."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._parts: dict[tuple[int, tuple[int, ...]], Part] = {}
        """Partitions compiled when nodes were chosen, by context and nodes, until LiteRT asks for them."""

    def choose(self, context: Any) -> Sequence[int]:
        """Choose the nodes to claim: all that NNAPI can express and the devices support."""
        plan = ffi.new("TfLiteIntArray**")
        need(not context.GetExecutionPlan(context, plan), "LiteRT gives no plan", OpFailedError)
        graph = LiteRtGraph(context, list_integers(plan[0]), is_dynamic=self._settings.is_dynamic)
        left = dict(graph.left)
        while True:
            taken = [node.number for node in graph.nodes if node.number not in left]
            try:
                parts = self._compile(graph, _list_shares(context, taken), context)
                break
            except NotOurs as error:
                left.update(error.reasons)
        self._parts.update({(_address(context), share.nodes): part for share, part in parts.items()})
        self._tell(graph, left, list(parts.values()))
        return taken

    def open_part(self, context: Any, params: Any) -> Part:
        """Return the partition of nodes that LiteRT has fused into one."""
        return self._parts.pop((_address(context), Share.of(params).nodes))

    def close(self) -> None:
        while self._parts:
            self._parts.popitem()[1].close()

    def _compile(self, graph: LiteRtGraph, shares: Sequence[Share], context: Any) -> dict[Share, Part]:
        """Compile all subsets; NotOurs with all reasons."""
        models, reasons = {}, dict[int, str]()
        engines = self._settings.list_engines()
        for share in shares:
            try:
                models[share] = convert(graph, share)
                if engines and len(shares) > 1:
                    check_work(share, models[share])
            except NotOurs as error:
                reasons |= error.reasons
        parts: dict[Share, Part] = {}
        for share, model in ({} if reasons else models).items():
            try:
                parts[share] = Part(graph, share, model, self._settings, _find_threads(context))
                check_speed(graph, share, parts[share], engines)
            except NotOurs as error:
                reasons |= error.reasons
        if reasons:
            for part in parts.values():
                part.close()
            raise NotOurs(reasons)
        return parts

    def _tell(self, graph: LiteRtGraph, left: Mapping[int, str], parts: Sequence[Part]) -> None:
        lines = [
            f"{len(graph.nodes) - len(left)} of {len(graph.nodes)} operators run here, in {len(parts)} parts",
            *_explain_left(graph, left),
        ]
        for line in lines:
            log.info("%s", line)
        if self._settings.explain:
            plans = [f"part {number}\n{part.explain()}" for number, part in enumerate(parts, 1)]
            with open(self._settings.explain, "a", encoding="utf-8") as file:
                file.write("\n\n".join(["\n".join(lines), *plans]) + "\n\n")


def _list_shares(context: Any, taken: Sequence[int]) -> list[Share]:
    """List the partitions that LiteRT would make of nodes."""
    if not taken:
        return []
    params, count = ffi.new("TfLiteDelegateParams**"), ffi.new("int*")
    nodes = ffi.new("TfLiteIntArray*", [len(taken), list(taken)])
    failed = context.PreviewDelegatePartitioning(context, nodes, params, count)
    need(not failed, "LiteRT finds no parts", OpFailedError)
    return [Share.of(params[0][index]) for index in range(count[0])]


def _explain_left(graph: LiteRtGraph, left: Mapping[int, str]) -> Iterator[str]:
    """Explain the nodes left to LiteRT, those of one kind and reason together."""
    told = sorted((node.kind, left[node.number]) for node in graph.nodes if node.number in left)
    for (kind, reason), same in groupby(told):
        count = len(list(same))
        yield f"left to LiteRT: {kind}{f' ×{count}' if count > 1 else ''}: {reason}"


def _address(context: Any) -> int:
    return int(ffi.cast("uintptr_t", context))


def _find_threads(context: Any) -> int | None:
    """Return the thread count of an interpreter; None where it is not set."""
    threads: int = context.recommended_num_threads
    return threads if threads > 0 else None
