"""The time of each operation of a model, from the engine's own counters.

Counting slows the engine little, but asking for the counts takes as long as a small model; so a model compiled once
more, with counters, gives the operations' shares of the runs without.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nnapi.drivers.openvino.api import ov
from nnapi.drivers.openvino.lowering import Lowered
from nnapi.drivers.openvino.value import make_shareable, node_of
from nnapi.drivers.profiling import correct_seconds, operation_section
from nnapi.model.model import Model
from nnapi.model.operand import Array
from nnapi.trace.profile import Costs, typical

Inputs = Sequence[Array]
MARK = re.compile(r"#(\d+)\.")
"""The pattern of the names of nodes, with the number of the operation of the model that they compute."""


def mark_nodes(lowered: Lowered) -> ov.Model:
    """Return the engine's graph, each node named after the operation to whose result it belongs.

    A conversion of a model input belongs to its reader.
    """
    graph = lowered.graph()
    seen: set[str] = set()
    for call in lowered.model.operations:
        waiting = [face for index in call.outputs for face in lowered.values[index].faces()]
        while waiting:
            node = node_of(waiting.pop())
            name = node.get_name()
            if name not in seen and node.get_type_name() not in ("Constant", "Parameter"):
                seen.add(name)
                node.set_friendly_name(f"#{call.number}.{len(seen)}")
                waiting += node.input_values()
    return graph


def measure(model: Model, compile: Callable[[], Any], inputs: Inputs) -> Costs:
    """Return the nodes that the engine made of the graph's, in the order in which it runs them.

    ``compile`` compiles the graph that :func:`mark_nodes` gives.
    """
    request = compile().create_infer_request()
    for position, array in enumerate(inputs):
        np.copyto(request.get_input_tensor(position).data, make_shareable(array))
    request.infer()  # allocates
    names = [_name(node) for node in request.get_profiling_info()]

    def run() -> list[float]:
        request.infer()
        return [_seconds(node) for node in request.get_profiling_info()]

    nodes = zip(names, typical(run), strict=True)
    ran = [(name, seconds) for name, seconds in nodes if seconds]
    numbers = _attribute([number for (number, _), _ in ran])
    return [
        (operation_section(model, number, engine), seconds)
        for number, ((_, engine), seconds) in zip(numbers, ran, strict=True)
    ]


def _seconds(node: Any) -> float:
    """Return the time of a node; 0 if it has no kernel, because it is fused or only data."""
    seconds: float = node.real_time.total_seconds()
    has_kernel = seconds or not node.exec_type.startswith(("undef", "unknown"))
    return correct_seconds(seconds) if has_kernel else 0.0


def _name(node: Any) -> tuple[int | None, str]:
    mark = MARK.search(node.node_name)
    return int(mark[1]) if mark else None, f"{node.node_type} {node.exec_type}"


def _attribute(numbers: Sequence[int | None]) -> list[int]:
    """Give nodes that the engine has added the number of the operation after them."""
    found: list[int] = []
    after = next((number for number in reversed(numbers) if number is not None), 0)
    for number in reversed(numbers):
        after = after if number is None else number
        found.append(after)
    return found[::-1]
