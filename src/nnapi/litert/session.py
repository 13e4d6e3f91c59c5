"""A subgraph of an interpreter: the requested input shapes, and the graph prepared for them."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from nnapi.compiling import compile
from nnapi.errors import NnapiError
from nnapi.formats.tflite.reader import File, Subgraph
from nnapi.formats.tflite.reader import Tensor as FileTensor
from nnapi.importers import load
from nnapi.importers.file_formats import Weights, is_dynamic_range
from nnapi.importers.refusals import Refused, UnsupportedOperationsError
from nnapi.importers.tflite.subgraph import import_subgraph
from nnapi.importers.tflite.tensors import operand_type
from nnapi.importers.tflite.variables import list_variables
from nnapi.litert.compiled_subgraph import CompiledSubgraph, ContinuingGraph, RestartingGraph, TensorDetails
from nnapi.litert.delegated_graph import DelegatedGraph
from nnapi.model.memory import Memory
from nnapi.model.model import Model
from nnapi.model.operand import Array, Shape
from nnapi.runtime.compilation import Compilation
from nnapi.runtime.states import Stateful, StatefulBurst, States

Graph = CompiledSubgraph | ContinuingGraph | RestartingGraph | DelegatedGraph


class SessionSettings(NamedTuple):
    devices: list[str] | None = None
    threads: int | None = None
    cache: Any = None
    all_tensors: bool = False
    fallback: bool = False

    def compile(self, model: Model) -> Compilation:
        return compile(model, self.devices, threads=self.threads, cache=self.cache)


class Session:
    """A subgraph, resized and allocated as LiteRT does. ``native`` is LiteRT's interpreter of the file, which never
    allocates tensors; another one, which does, infers shapes."""

    def __init__(
        self, file: "SubgraphFile", index: int, native: Any, settings: SessionSettings, resources: States
    ) -> None:
        """``resources`` are the resource variables, which all subgraphs of an interpreter share."""
        self.index, self._resources = index, resources
        self._file, self._native, self._settings = file, native, settings
        self._resized: dict[int, Array] = {}
        self._shapes: dict[int, Shape] = {}
        self.graph: Graph | None = None
        self.inputs: dict[int, Array] = {}

    def resize(self, index: int, shape: Any, strict: bool) -> None:
        dimensions, count = np.array(shape, np.int32), self._native.NumTensors(self.index)
        before = self._native.TensorSize(index, self.index) if 0 <= index < count else ()
        self._native.ResizeInputTensor(index, dimensions, strict, self.index)
        if not np.array_equal(before, dimensions):
            self._resized[index] = dimensions
            self.release()

    def allocate(self) -> Graph:
        """Return the graph for the requested shapes, prepared on demand; raise RuntimeError if that fails."""
        if self.graph is None:
            graph = self._file.read().subgraph(self.index)
            self._shapes = self._infer_shapes(graph)
            try:
                self.graph = self._prepare(graph)
            except NnapiError as error:
                if self._settings.fallback:
                    self.graph = self._delegate(graph, str(error))
                else:
                    hint = ". fallback=True leaves those to LiteRT" * isinstance(error, UnsupportedOperationsError)
                    raise RuntimeError(f"{error}{hint}") from error
            self.inputs = self.graph.inputs
        return self.graph

    def release(self) -> None:
        graph, self.graph, self.inputs = self.graph, None, {}
        if graph is not None:
            graph.close()

    def shape(self, index: int) -> Shape | None:
        """Return the shape of a tensor, or None if LiteRT's interpreter knows it."""
        graph = self.graph
        if graph is not None and index in graph.positions:
            shape: Shape = graph.results[graph.positions[index]].shape
            return shape
        return self._shapes.get(index) if self._resized else None

    def _infer_shapes(self, graph: Subgraph) -> dict[int, Shape]:
        """Return the shape of each tensor. LiteRT infers shapes if inputs were resized or an output has no shape; else
        they come from the file."""
        native = self._native
        is_vague = any(not graph.tensors[index].shape for index in graph.outputs)
        if self._resized or is_vague:
            native = self._file.make_native()
            for index, shape in self._resized.items():
                native.ResizeInputTensor(index, shape, False, self.index)
            native.AllocateTensors(self.index)
        shapes = {}
        for index in range(len(graph.tensors)):  # LiteRT appends temporary tensors
            with suppress(ValueError):  # scratch tensors have no shape in the file
                shapes[index] = tuple(map(int, native.TensorSize(index, self.index)))
        return shapes

    def _prepare(self, graph: Subgraph) -> Graph:
        variables = list_variables(graph)
        lasting = self._import(keeps_state=True)
        if lasting.states:
            return self._keep_resources(graph, lasting, variables)
        make_lasting = self._prepare_later(graph, lasting, variables)
        if not variables:
            return make_lasting()
        make_fresh = self._prepare_later(graph, self._import(keeps_state=False), ())
        return RestartingGraph(ContinuingGraph(make_lasting(), self._list(graph, variables)), make_fresh)

    def _keep_resources(self, graph: Subgraph, model: Model, variables: Sequence[int]) -> Graph:
        stateful, settings = Stateful(model), self._settings
        if settings.cache is None and model.origin is not None:
            settings = settings._replace(cache=True)
        compilation = settings.compile(stateful.model)
        burst = StatefulBurst(stateful, compilation, self._resources, borrow=True)
        inputs, outputs = (*graph.inputs, *variables), (*self._list_outputs(graph), *variables)
        ready = CompiledSubgraph(compilation, self._list(graph, inputs), self._list(graph, outputs), burst)
        return ContinuingGraph(ready, self._list(graph, variables)) if variables else ready

    def _import(self, *, keeps_state: bool) -> Model:
        """Return the subgraph as a model with the inferred shapes, or with the file's dynamic shapes if those do not
        fit. With ``keeps_state``, variables are additional inputs and outputs; else each run resets them."""
        graph = self._file.read().subgraph(self.index)
        has_state = keeps_state and (bool(list_variables(graph)) or self._file.shares_resources)
        is_dynamic = any(0 in tensor.shape for tensor in graph.tensors)
        if not (self.index or self._settings.all_tensors or has_state):
            dynamic = {index: graph.tensors[index].name for index in graph.inputs if 0 in graph.tensors[index].shape}
            if self._resized.keys() <= dynamic.keys():  # else LiteRT resizes an input that the file declares static
                with suppress(NnapiError):
                    model = self._file.load({name: self._shapes[index] for index, name in dynamic.items()})
                    if all(model.operands[index].type.is_known for index in model.outputs):
                        return model
        outputs = self._list_outputs(graph)
        try:
            return self._file.load_part(self.index, outputs, self._shapes, keeps_state)
        except NnapiError:
            if not is_dynamic:
                raise
            return self._file.load_part(self.index, outputs, {}, keeps_state)

    def _list_outputs(self, graph: Subgraph) -> tuple[int, ...]:
        """Return the indices of the outputs; with ``all_tensors``, also of all results whose type NNAPI has."""
        if not self._settings.all_tensors:
            return graph.outputs
        written = (index for operator in graph.operators for index in operator.outputs if index >= 0)
        return tuple(dict.fromkeys((*graph.outputs, *(index for index in written if has_type(graph, index)))))

    def _prepare_later(self, graph: Subgraph, model: Model, variables: Sequence[int]) -> Callable[[], CompiledSubgraph]:
        """Return a function that compiles a model, without a reference to the session, which keeps the function."""
        settings = self._settings
        empty = [0 in self._shapes[index] for index in graph.inputs]
        model.empty_inputs = frozenset(index for index, is_empty in zip(model.inputs, empty, strict=False) if is_empty)
        inputs = self._list(graph, (*graph.inputs, *variables))
        outputs = self._list(graph, (*self._list_outputs(graph), *variables))
        return lambda: CompiledSubgraph(settings.compile(model), inputs, outputs)

    def _delegate(self, graph: Subgraph, reason: str) -> DelegatedGraph:
        """Return a graph that LiteRT runs, with the NNAPI delegate unless ``all_tensors`` is set."""
        settings = self._settings
        cache = settings.cache if isinstance(settings.cache, str | os.PathLike) else ""
        options = {"devices": ",".join(settings.devices or ()), "cache": cache}

        def make_interpreter(delegates: list[Any]) -> Interpreter:
            threads = settings.threads or os.cpu_count()
            made = Interpreter(
                *self._file.path_and_content,
                [] if settings.all_tensors else delegates,
                threads,
                OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES if settings.all_tensors else OpResolverType.AUTO,
                settings.all_tensors,
            )
            for index, shape in self._resized.items():
                made._interpreter.ResizeInputTensor(index, shape, False, self.index)
            made._interpreter.AllocateTensors(self.index)
            return made

        return DelegatedGraph(make_interpreter, options, self.index, graph.inputs, self._list_outputs(graph), reason)

    def _list(self, graph: Subgraph, indices: Sequence[int]) -> list[TensorDetails]:
        return [self.describe(graph.tensors[index]) for index in indices]

    def describe(self, tensor: FileTensor) -> TensorDetails:
        dtype = np.dtype(self._native.TensorType(tensor.index, self.index))
        zero_point = int((*tensor.zero_points, 0)[0])
        return TensorDetails(tensor.index, dtype, self._shapes[tensor.index], zero_point, tensor.name)


class SubgraphFile:
    def __init__(
        self, path: str | os.PathLike[str] | None, content: bytes | None, weights: Weights | None = None
    ) -> None:
        """Read the model of a path or of bytes; ``weights`` are as for :func:`nnapi.load`."""
        self._weights, self._dynamic_range = weights, is_dynamic_range(weights)
        self.source: str | bytes = os.fspath(path) if path else content or b""
        self.name = os.path.basename(self.source) if isinstance(self.source, str) else "model"
        if isinstance(self.source, str):
            self._memory = Memory.from_file(self.source)
        else:
            self._memory = Memory.from_array(np.frombuffer(self.source, np.uint8))

    @property
    def path_and_content(self) -> tuple[str | None, bytes | None]:
        """Return the first two arguments of LiteRT's Interpreter; one of them is None."""
        return (self.source, None) if isinstance(self.source, str) else (None, self.source)

    def make_native(self) -> Any:
        """Return an interpreter of LiteRT, without delegates, whose tensors may be allocated."""
        kind = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
        return Interpreter(*self.path_and_content, experimental_op_resolver_type=kind)._interpreter

    @cached_property
    def shares_resources(self) -> bool:
        """Return whether several signatures use resource variables."""
        file = self.read()
        graphs = [file.subgraph(index) for index, _ in file.signatures()]
        return sum(any(each.kind == "VAR_HANDLE" for each in graph.operators) for graph in graphs) > 1

    def read(self) -> File:
        """Parse the file anew, since callers may change the result."""
        return File(self._memory.view().data.toreadonly())

    def load(self, shapes: Mapping[str, Shape]) -> Model:
        """Return the main subgraph as a model, which is cached; ``shapes`` are those of its dynamic inputs."""
        return load(self.source, shapes, weights=self._weights)

    def load_part(self, index: int, outputs: tuple[int, ...], shapes: Mapping[int, Shape], keeps_state: bool) -> Model:
        """Return a subgraph as a model with other outputs and shapes."""
        file = self.read()
        graph = file.subgraph(index)
        graph.outputs = outputs
        for number, shape in shapes.items():
            graph.tensors[number].shape = shape
        options = {"keeps_state": keeps_state, "dynamic_range": self._dynamic_range}
        return import_subgraph(file, self.name, index, **options)


def has_type(graph: Subgraph, index: int) -> bool:
    try:
        operand_type(graph.tensors[index])
    except (Refused, NnapiError):
        return False
    return True
