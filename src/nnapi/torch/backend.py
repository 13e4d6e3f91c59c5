"""Export a graph of PyTorch to ONNX for the shapes of its inputs, and run it in a session."""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import numpy as np
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from nnapi.contract.shape_cache import OVERHEAD, ShapeCache
from nnapi.locks import make_lock
from nnapi.onnx.options import SessionOptions
from nnapi.onnx.session import InferenceSession
from nnapi.runtime.thread_counts import read_threads
from nnapi.torch.export import (
    ALL_STATIC,
    DynamicDimensions,
    declare_dynamic,
    describe_code,
    export_graph,
    find_dynamic_dimensions,
    find_unused_sizes,
)
from nnapi.torch.rewriting import rewrite

log = logging.getLogger("nnapi.torch")
ROUNDING = 1e-3
"""Tolerated difference of a dynamic graph from PyTorch's result."""

Tensors = Sequence[Any]
Shapes = Sequence[tuple[int, ...]]
Outputs = tuple[Any, ...]
Run = Callable[[Tensors], Outputs]


class Made(NamedTuple):
    """A run, and its estimated size in bytes without what other runs share."""

    run: Run
    size: int = 0


def compile_graph(graph: Any, examples: Tensors, *, options: Mapping[str, Any] | None = None) -> Callable[..., Any]:
    """Return a callable that compiles the graph at its first call, and again for other shapes."""
    weights = [is_weight(each) for each in examples]
    dynamic = find_dynamic_dimensions(graph)
    return CompiledGraph(graph, weights, dynamic, options or {}, rewrite(graph))


def is_weight(tensor: Any) -> bool:
    """Return whether an input of a graph is a parameter or a buffer, which calls do not change."""
    is_static = getattr(tensor, "_dynamo_static_input_type", None) is not None
    return isinstance(tensor, torch.nn.Parameter) or (isinstance(tensor, torch.Tensor) and is_static)


class Exports:
    """The exports of graphs of the same code with the same weights, as PyTorch compiles one for each size.

    ``session`` is that of the latest export that serves several sizes. At first, it is the export for the first size
    alone, whose dimensions are then declared dynamic: it holds for others unless it has constants of sizes. The next
    one is exported with dynamic dimensions: ``names`` of those that differ, by input.
    """

    def __init__(self, weights: Tensors, shapes: Shapes, *, is_declared: bool) -> None:
        self._weights = [(each, _count_changes(each)) for each in weights]
        self.shapes, self.names = shapes, [dict[int, str]() for _ in shapes]
        self.session: InferenceSession | None = None
        self.is_declared = is_declared
        self.is_checked, self.is_wrong = False, False
        """Whether the graph is known to be suitable; whether its results with dynamic dimensions were wrong."""

    def holds(self, weights: Tensors) -> bool:
        pairs = zip(self._weights, weights, strict=True)
        return all(own is each and changes == _count_changes(each) for (own, changes), each in pairs)

    def widen(self, shapes: Shapes, names: Sequence[Mapping[int, str]]) -> None:
        """Make all dimensions dynamic that are so in the graph, or that differ from those of the first call."""
        widened = [{**own, **more} for own, more in zip(self.names, names, strict=True)]
        for number, pair in enumerate(zip(self.shapes, shapes, strict=True)):
            for axis, (first, size) in enumerate(zip(*pair, strict=True)):
                if first != size:
                    widened[number].setdefault(axis, f"d{number}_{axis}")
        if widened != self.names:
            self.names, self.session = widened, None


_exports: WeakValueDictionary[Any, Exports] = WeakValueDictionary()
"""By code, options and the types of inputs."""


class CompiledGraph:
    """A graph with its runs, cached by the shapes of inputs and the versions of weights."""

    def __init__(
        self,
        graph: Any,
        weights: Sequence[bool],
        dynamic: DynamicDimensions | None,
        options: Mapping[str, Any],
        floats: Collection[int] = (),
    ) -> None:
        """``floats`` are the positions of inputs that the graph takes as floats, and callers pass as tensors."""
        self._graph, self._weights, self._floats = graph, weights, floats
        self._dynamic = ALL_STATIC if dynamic is None else dynamic
        self._session_options = SessionOptions(intra_op_num_threads=read_threads(options.get("threads") or None) or 0)
        self._devices, self._cache = options.get("devices"), options.get("cache")
        self._is_strict = bool(options.get("strict"))
        self._unused = find_unused_sizes(graph)
        self._code = describe_code(graph), repr(sorted(options.items()))
        self._exports: Exports | None = None
        self._runs = ShapeCache[Any, Made](lambda key, made: made.size)
        self._lock = make_lock()

    def __call__(self, *inputs: Any) -> tuple[Any, ...]:
        if self._floats:
            inputs = tuple(each.item() if index in self._floats else each for index, each in enumerate(inputs))
        key = tuple(map(_identify, inputs, self._weights))
        results = None
        with self._lock:
            made = self._runs.get(key)
            if made is None:
                made, results = self._make(inputs)
                self._runs.keep(key, made)
        return made.run(inputs) if results is None else results

    def _make(self, inputs: Tensors) -> tuple[Made, Outputs | None]:
        """Return the run for inputs like these, and its results if they are known already."""
        try:
            need_no_gradients(inputs)
            exports = self._find_exports(inputs)
            if not exports.is_checked:
                need_inference(self._graph, inputs)
                exports.is_checked = True
            export = cache(lambda: self._export(inputs, ALL_STATIC))
            shared = self._share(exports, inputs, export)
            if shared is not None:
                return Made(shared[0]), shared[1]
            return Made(self._bind(self._open(export()), inputs), OVERHEAD + len(export())), None
        except Exception as error:
            if self._is_strict:
                raise
            log.warning("a graph is left to PyTorch: %s", error if str(error) else type(error).__name__)
            return Made(lambda inputs: tuple(self._graph(*inputs))), None

    def _find_exports(self, inputs: Tensors) -> Exports:
        """Return the exports for these weights, of this graph or of another one of the same code."""
        weights = [each for each, is_fixed in zip(inputs, self._weights, strict=True) if is_fixed]
        sizes = self._dynamic.sizes
        described = [None if index in sizes else _describe(each) for index, each in enumerate(inputs)]
        key = *self._code, repr([each for index, each in enumerate(described) if index not in self._unused])
        found = _exports.get(key)
        if found is None or not found.holds(weights):
            found = _exports[key] = Exports(weights, self._list_shapes(inputs), is_declared=not sizes)
        self._exports = found
        return found

    def _share(self, exports: Exports, inputs: Tensors, export: Callable[[], bytes]) -> tuple[Run, Outputs] | None:
        """Return a run of an export that serves several sizes, and its results; None if none serves these inputs.
        ``export`` exports the graph for these inputs alone."""
        if exports.is_declared:
            is_first = exports.session is None
            found = self._try(exports, inputs, lambda: declare_dynamic(export()), is_trusted=is_first)
            if found is not None:
                return found
            exports.is_declared = False
        live = self._list_live(inputs)
        exports.widen(self._list_shapes(inputs), [self._dynamic.names.get(index, {}) for index in live])
        if exports.is_wrong or not any(exports.names):
            return None
        dynamic = DynamicDimensions(dict(zip(live, exports.names, strict=True)), self._dynamic.sizes)
        found = self._try(exports, inputs, lambda: self._export(inputs, dynamic))
        exports.is_wrong = found is None
        return found

    def _try(
        self, exports: Exports, inputs: Tensors, export: Callable[[], bytes], *, is_trusted: bool = False
    ) -> tuple[Run, Outputs] | None:
        """Return a run of the current session, which ``export`` makes if there is none, and its results.

        Close the session and return None if the results differ from PyTorch's, because the exporter makes constants of
        values that Python computes from sizes. They are trusted for the sizes of the export.
        """
        try:
            exports.session = exports.session or self._open(export())
            run = self._bind(exports.session, inputs)
            results = run(inputs)
            if is_trusted or all(map(_is_close, results, self._graph(*inputs))):
                return run, results
            reason = "the exporter made a constant of a size"
        except Exception as error:
            reason = str(error)
        log.debug("exported anew for other sizes: %s", reason)
        exports.session = None
        return None

    def _export(self, inputs: Tensors, dynamic: DynamicDimensions) -> bytes:
        return export_graph(self._graph, inputs, self._list_live(inputs), dynamic)

    def _open(self, content: bytes) -> InferenceSession:
        return InferenceSession(content, self._session_options, self._devices, cache=self._cache)

    def _list_live(self, inputs: Tensors) -> list[int]:
        pairs = enumerate(zip(inputs, self._weights, strict=True))
        return [index for index, (each, is_fixed) in pairs if isinstance(each, torch.Tensor) and not is_fixed]

    def _list_shapes(self, inputs: Tensors) -> Shapes:
        return [tuple(inputs[index].shape) for index in self._list_live(inputs)]

    def _bind(self, session: InferenceSession, inputs: Tensors) -> Run:
        indexes = {f"input{number}": index for number, index in enumerate(self._list_live(inputs))}
        read = [(each.name, indexes[each.name]) for each in session.get_inputs()]

        def run(inputs: Tensors) -> tuple[Any, ...]:
            feed = {name: inputs[index].detach().contiguous().numpy() for name, index in read}
            return tuple(torch.from_numpy(np.ascontiguousarray(each)) for each in session.run(None, feed))

        return run


def _count_changes(weight: Any) -> int:
    changes: int = 0 if weight.is_inference() else weight._version
    return changes


def _describe(value: Any) -> Any:
    return (value.dtype, value.ndim) if isinstance(value, torch.Tensor) else value


def _identify(value: Any, is_fixed: bool) -> Any:
    """Return a cache key: a weight's version, a tensor's shape and type, or a scalar's value."""
    if not isinstance(value, torch.Tensor):
        return value
    if is_fixed:
        return value.data_ptr(), _count_changes(value)
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


def need_no_gradients(inputs: Sequence[Any]) -> None:
    """Raise UnsuitableError if gradients are wanted, or a tensor is not in the processor's memory."""
    tensors = [each for each in inputs if isinstance(each, torch.Tensor)]
    if torch.is_grad_enabled() and any(each.requires_grad for each in tensors):
        raise UnsuitableError("gradients are wanted: call it under torch.no_grad()")
    elsewhere = {str(each.device) for each in tensors} - {"cpu"}
    if elsewhere:
        raise UnsuitableError(f"its tensors lie on {', '.join(sorted(elsewhere))}, not on the processor")


def need_inference(graph: Any, inputs: Sequence[Any]) -> None:
    """Raise UnsuitableError if a graph changes its inputs, draws random numbers, or returns non-tensors. Compute
    nothing."""
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
