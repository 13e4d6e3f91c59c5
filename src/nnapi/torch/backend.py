"""A graph of PyTorch's, exported to ONNX for the shapes of its inputs, and run by a session."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from nnapi.locks import make_lock
from nnapi.onnx.options import SessionOptions
from nnapi.onnx.session import InferenceSession
from nnapi.torch.checks import Unfit, need_inference
from nnapi.torch.export import NOTHING_OPEN, export_graph
from nnapi.torch.open_dimensions import OpenDimensions, find_open_dimensions

log = logging.getLogger("nnapi.torch")
MOST_SHAPES = 8
"""Combinations of inputs whose compilations a graph caches."""
ROUNDING = 1e-3
"""Tolerated difference of a dynamic graph from PyTorch's result."""

Tensors = Sequence[Any]
Run = Callable[[Tensors], tuple[Any, ...]]


def compile_graph(graph: Any, examples: Tensors, *, options: Mapping[str, Any] | None = None) -> Callable[..., Any]:
    """Return a callable that compiles a graph at the first call, and again for other shapes."""
    weights = [is_weight(each) for each in examples]
    return CompiledGraph(graph, weights, find_open_dimensions(graph), options or {})


def is_weight(tensor: Any) -> bool:
    """Return whether an input of a graph is a parameter or buffer, which calls do not change."""
    is_static = getattr(tensor, "_dynamo_static_input_type", None) is not None
    return isinstance(tensor, torch.nn.Parameter) or (isinstance(tensor, torch.Tensor) and is_static)


class CompiledGraph:
    """A graph and its runs, cached by the shapes of inputs and the versions of weights."""

    def __init__(
        self, graph: Any, weights: Sequence[bool], open: OpenDimensions | None, options: Mapping[str, Any]
    ) -> None:
        self._graph, self._weights, self._open = graph, weights, open
        self._session_options = SessionOptions(intra_op_num_threads=options.get("threads") or 0)
        self._devices, self._cache = options.get("devices"), options.get("cache")
        self._is_strict = bool(options.get("strict"))
        self._runs: dict[Any, Run] = {}
        self._for_any: tuple[Any, InferenceSession] | None = None
        """The versions of weights and their session with dynamic dimensions."""
        self._lock = make_lock()

    def __call__(self, *inputs: Any) -> tuple[Any, ...]:
        key = tuple(map(_identify, inputs, self._weights))
        with self._lock:
            run = self._runs.pop(key, None) or self._make(inputs)
            self._runs[key] = run  # the latest is last
            if len(self._runs) > MOST_SHAPES:
                del self._runs[next(iter(self._runs))]
        return run(inputs)

    def _make(self, inputs: Tensors) -> Run:
        """Return the run of such inputs here, or by PyTorch with a warning."""
        try:
            need_inference(self._graph, inputs)
            return self._make_for_any(inputs) or self._bind(self._prepare(inputs, NOTHING_OPEN), inputs)
        except Exception as error:
            if self._is_strict:
                raise
            log.warning("a graph is left to PyTorch: %s", error if str(error) else type(error).__name__)
            return lambda inputs: tuple(self._graph(*inputs))

    def _make_for_any(self, inputs: Tensors) -> Run | None:
        """Return the run of the graph with dynamic dimensions, exported once for any size.

        None if no dimension is dynamic, or if its results ever differ from PyTorch's: the exporter treats values that
        Python computes from sizes as constants.
        """
        if self._open is None:
            return None
        state = [self._identify_for_any(place, each) for place, each in enumerate(inputs)]
        try:
            if self._for_any is None or self._for_any[0] != state:
                self._for_any = state, self._prepare(inputs, self._open)
            run = self._bind(self._for_any[1], inputs)
            if all(map(_is_close, run(inputs), self._graph(*inputs))):
                return run
            reason = "the exporter made a constant of a size"
        except Exception as error:
            reason = str(error)
        log.debug("exported for each size alone: %s", reason)
        self._open = self._for_any = None
        return None

    def _identify_for_any(self, place: int, value: Any) -> Any:
        assert self._open is not None
        if self._weights[place] or not (isinstance(value, torch.Tensor) or place in self._open.sizes):
            return _identify(value, self._weights[place])
        return getattr(value, "dtype", None)

    def _prepare(self, inputs: Tensors, open: OpenDimensions) -> InferenceSession:
        content = export_graph(self._graph, inputs, self._list_live(inputs), open)
        return InferenceSession(content, self._session_options, self._devices, cache=self._cache)

    def _list_live(self, inputs: Tensors) -> list[int]:
        """Return the indices of the tensors that calls pass."""
        ends = enumerate(zip(inputs, self._weights, strict=True))
        return [place for place, (each, is_fixed) in ends if isinstance(each, torch.Tensor) and not is_fixed]

    def _bind(self, session: InferenceSession, inputs: Tensors) -> Run:
        places = {f"input{number}": place for number, place in enumerate(self._list_live(inputs))}
        taken = [(end.name, places[end.name]) for end in session.get_inputs()]  # those that the graph reads

        def run(inputs: Tensors) -> tuple[Any, ...]:
            feed = {name: _as_array(inputs[place]) for name, place in taken}
            return tuple(torch.from_numpy(np.ascontiguousarray(each)) for each in session.run(None, feed))

        return run


def _identify(value: Any, is_fixed: bool) -> Any:
    """Return a cache key: the version of a weight, the shape and type of a tensor, or a scalar."""
    if not isinstance(value, torch.Tensor):
        return value
    if is_fixed:
        return value.data_ptr(), 0 if value.is_inference() else value._version
    return tuple(value.shape), value.dtype, value.requires_grad and torch.is_grad_enabled()


def _is_close(ours: Any, theirs: Any) -> bool:
    if (ours.dtype, ours.shape) != (theirs.dtype, theirs.shape):
        return False
    largest = float(theirs.abs().max()) if theirs.numel() and theirs.dtype.is_floating_point else 0.0
    return bool(torch.allclose(ours, theirs, ROUNDING, ROUNDING * largest, equal_nan=True))


def _as_array(tensor: Any) -> np.ndarray[Any, Any]:
    array: np.ndarray[Any, Any] = tensor.detach().contiguous().numpy()
    return array


__all__ = ["CompiledGraph", "Unfit", "compile_graph"]
