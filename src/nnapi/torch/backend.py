"""One graph of PyTorch's: exported to ONNX for the shapes that it is called with, and run by a session."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from nnapi.onnx.options import SessionOptions
from nnapi.onnx.session import InferenceSession
from nnapi.torch.checks import Unfit, need_inference
from nnapi.torch.export import export_graph

log = logging.getLogger("nnapi.torch")
MOST_SHAPES = 8
"""For so many combinations of inputs a graph keeps what it compiled, the latest ones."""

Tensors = Sequence[Any]
Run = Callable[[Tensors], tuple[Any, ...]]


def compile_graph(graph: Any, examples: Tensors, *, options: Mapping[str, Any] | None = None) -> Callable[..., Any]:
    """What PyTorch calls in the place of a graph; it is compiled when it is first called, and for other shapes anew."""
    return CompiledGraph(graph, [is_weight(each) for each in examples], options or {})


def is_weight(tensor: Any) -> bool:
    """Whether an input of a graph is a parameter or buffer of the model, which calls do not change."""
    is_static = getattr(tensor, "_dynamo_static_input_type", None) is not None
    return isinstance(tensor, torch.nn.Parameter) or (isinstance(tensor, torch.Tensor) and is_static)


class CompiledGraph:
    """A graph and what was compiled of it, by the shapes of its inputs and the state of the model's weights."""

    def __init__(self, graph: Any, weights: Sequence[bool], options: Mapping[str, Any]) -> None:
        self._graph, self._weights = graph, weights
        self._session_options = SessionOptions(intra_op_num_threads=options.get("threads") or 0)
        self._devices, self._cache = options.get("devices"), options.get("cache")
        self._is_strict = bool(options.get("strict"))
        self._runs: dict[Any, Run] = {}
        self._lock = threading.Lock()

    def __call__(self, *inputs: Any) -> tuple[Any, ...]:
        key = tuple(map(_identify, inputs, self._weights))
        with self._lock:
            run = self._runs.pop(key, None) or self._make(inputs)
            self._runs[key] = run  # the latest is last
            if len(self._runs) > MOST_SHAPES:
                del self._runs[next(iter(self._runs))]
        return run(inputs)

    def _make(self, inputs: Tensors) -> Run:
        """The run of such inputs here, or by PyTorch with a warning."""
        try:
            need_inference(self._graph, inputs)
            live = [
                place
                for place, (each, is_fixed) in enumerate(zip(inputs, self._weights, strict=True))
                if isinstance(each, torch.Tensor) and not is_fixed
            ]
            content = export_graph(self._graph, inputs, live)
            session = InferenceSession(content, self._session_options, self._devices, cache=self._cache)
        except Exception as error:
            if self._is_strict:
                raise
            log.warning("a graph is left to PyTorch: %s", error if str(error) else type(error).__name__)
            return lambda inputs: tuple(self._graph(*inputs))
        names = [end.name for end in session.get_inputs()]
        places = {f"input{number}": place for number, place in enumerate(live)}

        def run(inputs: Tensors) -> tuple[Any, ...]:
            feed = {name: _as_array(inputs[places[name]]) for name in names}
            return tuple(torch.from_numpy(np.ascontiguousarray(each)) for each in session.run(None, feed))

        return run


def _identify(value: Any, is_fixed: bool) -> Any:
    """What must be equal for a run to be the same: the state of a weight, the shape and type of a tensor, a number."""
    if not isinstance(value, torch.Tensor):
        return value
    if is_fixed:
        return value.data_ptr(), 0 if value.is_inference() else value._version
    return tuple(value.shape), value.dtype, value.requires_grad and torch.is_grad_enabled()


def _as_array(tensor: Any) -> np.ndarray[Any, Any]:
    array: np.ndarray[Any, Any] = tensor.detach().contiguous().numpy()
    return array


__all__ = ["CompiledGraph", "Unfit", "compile_graph"]
