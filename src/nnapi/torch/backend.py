"""Export a graph of PyTorch to ONNX for the shapes of its inputs, and run it in a session."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from nnapi.contract.shape_cache import OVERHEAD, ShapeCache
from nnapi.locks import make_lock
from nnapi.onnx.options import SessionOptions
from nnapi.onnx.session import InferenceSession
from nnapi.runtime.thread_counts import read_threads
from nnapi.torch.export import ALL_STATIC, DynamicDimensions, export_graph, find_dynamic_dimensions

log = logging.getLogger("nnapi.torch")
ROUNDING = 1e-3
"""Tolerated difference of a dynamic graph from PyTorch's result."""

Tensors = Sequence[Any]
Run = Callable[[Tensors], tuple[Any, ...]]


class Made(NamedTuple):
    """A run, and its estimated size in bytes without what other runs share."""

    run: Run
    size: int = 0


def compile_graph(graph: Any, examples: Tensors, *, options: Mapping[str, Any] | None = None) -> Callable[..., Any]:
    """Return a callable that compiles the graph at its first call, and again for other shapes."""
    weights = [is_weight(each) for each in examples]
    return CompiledGraph(graph, weights, find_dynamic_dimensions(graph), options or {})


def is_weight(tensor: Any) -> bool:
    """Return whether an input of a graph is a parameter or a buffer, which calls do not change."""
    is_static = getattr(tensor, "_dynamo_static_input_type", None) is not None
    return isinstance(tensor, torch.nn.Parameter) or (isinstance(tensor, torch.Tensor) and is_static)


class CompiledGraph:
    """A graph with its runs, cached by the shapes of inputs and the versions of weights."""

    def __init__(
        self, graph: Any, weights: Sequence[bool], dynamic: DynamicDimensions | None, options: Mapping[str, Any]
    ) -> None:
        self._graph, self._weights, self._dynamic = graph, weights, dynamic
        self._session_options = SessionOptions(intra_op_num_threads=read_threads(options.get("threads") or None) or 0)
        self._devices, self._cache = options.get("devices"), options.get("cache")
        self._is_strict = bool(options.get("strict"))
        self._runs = ShapeCache[Any, Made](lambda key, made: made.size)
        self._dynamic_session: tuple[Any, InferenceSession] | None = None
        """The versions of weights, and the session with dynamic dimensions for them."""
        self._lock = make_lock()

    def __call__(self, *inputs: Any) -> tuple[Any, ...]:
        key = tuple(map(_identify, inputs, self._weights))
        with self._lock:
            made = self._runs.get(key)
            if made is None:
                made = self._make(inputs)
                self._runs.keep(key, made)
        return made.run(inputs)

    def _make(self, inputs: Tensors) -> Made:
        try:
            need_inference(self._graph, inputs)
            dynamic = self._make_dynamic(inputs)
            if dynamic is not None:
                return Made(dynamic)
            content = self._export(inputs, ALL_STATIC)
            return Made(self._bind(self._open(content), inputs), OVERHEAD + len(content))
        except Exception as error:
            if self._is_strict:
                raise
            log.warning("a graph is left to PyTorch: %s", error if str(error) else type(error).__name__)
            return Made(lambda inputs: tuple(self._graph(*inputs)))

    def _make_dynamic(self, inputs: Tensors) -> Run | None:
        """Return a run of the graph with dynamic dimensions, exported once for all sizes.

        Return None if no dimension is dynamic, or once results have differed from PyTorch's, because the exporter makes
        constants of values that Python computes from sizes.
        """
        if self._dynamic is None:
            return None
        state = [self._identify_dynamic(index, each) for index, each in enumerate(inputs)]
        try:
            if self._dynamic_session is None or self._dynamic_session[0] != state:
                self._dynamic_session = state, self._open(self._export(inputs, self._dynamic))
            run = self._bind(self._dynamic_session[1], inputs)
            if all(map(_is_close, run(inputs), self._graph(*inputs))):
                return run
            reason = "the exporter made a constant of a size"
        except Exception as error:
            reason = str(error)
        log.debug("exported for each size alone: %s", reason)
        self._dynamic = self._dynamic_session = None
        return None

    def _identify_dynamic(self, index: int, value: Any) -> Any:
        assert self._dynamic is not None
        if self._weights[index] or not (isinstance(value, torch.Tensor) or index in self._dynamic.sizes):
            return _identify(value, self._weights[index])
        return getattr(value, "dtype", None)

    def _export(self, inputs: Tensors, dynamic: DynamicDimensions) -> bytes:
        return export_graph(self._graph, inputs, self._list_live(inputs), dynamic)

    def _open(self, content: bytes) -> InferenceSession:
        return InferenceSession(content, self._session_options, self._devices, cache=self._cache)

    def _list_live(self, inputs: Tensors) -> list[int]:
        pairs = enumerate(zip(inputs, self._weights, strict=True))
        return [index for index, (each, is_fixed) in pairs if isinstance(each, torch.Tensor) and not is_fixed]

    def _bind(self, session: InferenceSession, inputs: Tensors) -> Run:
        indexes = {f"input{number}": index for number, index in enumerate(self._list_live(inputs))}
        read = [(each.name, indexes[each.name]) for each in session.get_inputs()]

        def run(inputs: Tensors) -> tuple[Any, ...]:
            feed = {name: inputs[index].detach().contiguous().numpy() for name, index in read}
            return tuple(torch.from_numpy(np.ascontiguousarray(each)) for each in session.run(None, feed))

        return run


def _identify(value: Any, is_fixed: bool) -> Any:
    """Return a cache key: a weight's version, a tensor's shape and type, or a scalar's value."""
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


class UnsuitableError(Exception):
    """NNAPI cannot run a graph, for this reason."""


class _Random(TorchDispatchMode):  # type: ignore[misc]  # PyTorch may be missing when types are checked
    """Refuse operators that draw random numbers."""

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), named: Any = None) -> Any:
        named = named or {}
        if torch.Tag.nondeterministic_seeded in function.tags and not _is_without_dropout(function, args, named):
            raise UnsuitableError(f"it draws random numbers ({function})")
        return function(*args, **named)


def _is_without_dropout(function: Any, args: Sequence[Any], named: Mapping[str, Any]) -> bool:
    """Return whether a function's only random element is dropout, and that is off."""
    for index, argument in enumerate(function._schema.arguments):
        if argument.name == "dropout_p":
            given = args[index] if index < len(args) else named.get("dropout_p", argument.default_value)
            return not given
    return False


def need_inference(graph: Any, inputs: Sequence[Any]) -> None:
    """Raise UnsuitableError if a graph is trained, changes its inputs, draws random numbers, or returns non-tensors.
    Compute nothing."""
    tensors = [each for each in inputs if isinstance(each, torch.Tensor)]
    if torch.is_grad_enabled() and any(each.requires_grad for each in tensors):
        raise UnsuitableError("gradients are wanted: call it under torch.no_grad()")
    elsewhere = {str(each.device) for each in tensors} - {"cpu"}
    if elsewhere:
        raise UnsuitableError(f"its tensors lie on {', '.join(sorted(elsewhere))}, not on the processor")
    fakes = FakeTensorMode(allow_non_fake_inputs=True)
    with torch.inference_mode(False), torch.no_grad(), fakes, _Random():
        given = [fakes.from_tensor(each) if isinstance(each, torch.Tensor) else each for each in inputs]
        before = [each._version for each in given if isinstance(each, torch.Tensor)]
        outputs = graph(*given)
        after = [each._version for each in given if isinstance(each, torch.Tensor)]
    if before != after:
        raise UnsuitableError(
            "it changes its inputs or buffers in place; model.eval() leaves those of a BatchNorm alone"
        )
    if not all(isinstance(each, torch.Tensor) for each in outputs):
        raise UnsuitableError("it returns something other than tensors")
