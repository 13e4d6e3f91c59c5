"""LiteRT's Interpreter on NNAPI devices instead of LiteRT's kernels."""

import os
from collections.abc import Callable, Iterable, Sequence
from sys import getrefcount
from typing import Any

import numpy as np
from ai_edge_litert import interpreter as litert
from ai_edge_litert.interpreter import OpResolverType
from numpy import ndarray

from nnapi.errors import BadDataError, NnapiError
from nnapi.importers.file_formats import Weights
from nnapi.litert.delegates import list_devices
from nnapi.litert.session import Graph, Session, SessionSettings, SubgraphFile
from nnapi.model.operand import Array
from nnapi.printable import pluralize
from nnapi.runtime.states import States
from nnapi.runtime.thread_counts import read_threads

UNUSED = 2
"""References to a lease without views: the interpreter's, and the argument of getrefcount."""

TEXT = "SO"
"""NumPy kinds of string arrays. LiteRT's interpreter converts and stores strings, whose length varies."""


class Interpreter(litert.Interpreter):  # type: ignore[misc]  # LiteRT has no types
    """A LiteRT model that runs on NNAPI devices. LiteRT's own interpreter describes the file, but allocates no
    tensors."""

    def __init__(
        self,
        model_path: str | os.PathLike[str] | None = None,
        model_content: bytes | None = None,
        experimental_delegates: Iterable[Any] | None = None,
        num_threads: int | None = None,
        experimental_op_resolver_type: OpResolverType = OpResolverType.AUTO,
        experimental_preserve_all_tensors: bool = False,
        *others: Any,
        devices: Sequence[str] | str | None = None,
        fallback: bool = False,
        cache: str | os.PathLike[str] | None = None,
        weights: Weights | None = None,
        **named: Any,
    ) -> None:
        """As LiteRT's. In addition, ``devices`` are names, which a delegate may also give. With ``fallback``, LiteRT
        runs operators that NNAPI cannot express. ``cache`` is as for :func:`nnapi.compile`, ``weights`` as for
        :func:`nnapi.load`: ``"dynamic-range"`` keeps 8-bit weights of float operations quantized.

        With ``experimental_preserve_all_tensors``, each result is an output, so that nothing is fused.
        """
        super().__init__(
            model_path,
            model_content,
            None,
            num_threads,
            experimental_op_resolver_type,
            experimental_preserve_all_tensors,
            *others,
            **named,
        )
        try:
            threads = read_threads(num_threads, "num_threads")
        except BadDataError as error:
            raise ValueError(str(error)) from error
        wanted = [devices] if isinstance(devices, str) else devices
        self._settings = SessionSettings(
            list(wanted) if wanted is not None else list_devices(experimental_delegates),
            threads,
            cache,
            experimental_preserve_all_tensors,
            fallback,
        )
        self.file = SubgraphFile(model_path, model_content, weights)
        self._sessions: dict[int, Session] = {}
        self._resources = States()
        self._main = self.session(0)
        self._lease = _Lease()

    def session(self, subgraph_index: int) -> Session:
        if subgraph_index not in self._sessions:
            self._sessions[subgraph_index] = Session(
                self.file, subgraph_index, self._interpreter, self._settings, self._resources
            )
        return self._sessions[subgraph_index]

    def allocate_tensors(self) -> None:
        self._ensure_safe()
        self._main.allocate()

    def resize_tensor_input(self, input_index: int, tensor_size: Sequence[int], strict: bool = False) -> None:
        self._ensure_safe()
        self._main.resize(input_index, tensor_size, strict)

    def set_tensor(self, tensor_index: int, value: Any) -> None:
        array = self._main.inputs.get(tensor_index)
        if array is None or value.__class__ is not ndarray:
            self.set_otherwise(tensor_index, value)
        elif value.dtype is array.dtype and value.shape == array.shape:
            array[...] = value
        else:
            self.set_otherwise(tensor_index, value)

    def set_otherwise(self, tensor_index: int, value: Any, subgraph_index: int = 0) -> None:
        """Set a value outside the fast path: it needs conversion, lies in another subgraph, or is refused."""
        graph = self.session(subgraph_index).graph
        array, given = None if graph is None else graph.inputs.get(tensor_index), np.asarray(value)
        if graph is not None and array is not None and array.dtype.kind in TEXT:
            self._interpreter.SetTensor(tensor_index, value, subgraph_index)
            graph.inputs[tensor_index] = self._interpreter.GetTensor(tensor_index, subgraph_index)
            return
        if array is not None and given.dtype == array.dtype and given.shape == array.shape:
            array[...] = given
            return
        if graph is not None and array is None and 0 <= tensor_index < self._interpreter.NumTensors(subgraph_index):
            raise ValueError(f"tensor {tensor_index} is not an input of the model: nothing is set")
        self._interpreter.SetTensor(tensor_index, value, subgraph_index)  # LiteRT raises the error

    def get_tensor(self, tensor_index: int, subgraph_index: int = 0) -> Array:
        graph = self._main.graph if not subgraph_index else self.session(subgraph_index).graph
        if graph is not None:
            position = graph.positions.get(tensor_index)
            if position is not None:
                return graph.results[position].copy()
            if tensor_index in graph.inputs:
                return graph.inputs[tensor_index].copy()
        constant: Array = super().get_tensor(tensor_index, subgraph_index)
        return constant

    def tensor(self, tensor_index: int) -> Callable[[], Array]:
        def view() -> Array:
            graph = self._main.graph
            array = None if graph is None else _find(graph, tensor_index)
            if array is not None:
                return self._lease.borrow(array)
            held: Array = self._interpreter.tensor(self._interpreter, tensor_index)
            return held

        return view

    def invoke(self) -> None:
        if self._lease.is_borrowed and getrefcount(self._lease) > UNUSED:
            self._ensure_safe()
        graph = self._main.graph
        if graph is None:
            self._interpreter.Invoke()  # LiteRT raises its error: nothing is allocated
            return
        try:
            graph.results = graph.run()
        except NnapiError as error:
            raise RuntimeError(str(error)) from error

    def reset_all_variables(self) -> None:
        for session in self._sessions.values():
            if session.graph is not None:
                session.graph.reset()

    def get_signature_runner(self, signature_key: str | None = None) -> "SignatureRunner":
        given = super().get_signature_runner(signature_key)  # finds the only signature, refuses unknown keys
        return SignatureRunner(self, given._signature_key)

    def explain(self) -> str:
        """Explain which device runs each operation, and at what cost; raise RuntimeError before allocate_tensors."""
        if self._main.graph is None:
            raise RuntimeError("nothing is allocated: call allocate_tensors first")
        return self._main.graph.explain()

    def _safe_to_run(self) -> bool:
        return getrefcount(self._lease) <= UNUSED

    def _get_tensor_details(self, tensor_index: int, subgraph_index: int) -> dict[str, Any]:
        details: dict[str, Any] = super()._get_tensor_details(tensor_index, subgraph_index)
        session = self._sessions.get(int(subgraph_index))
        shape = session.shape(int(tensor_index)) if session else None
        if shape is not None:
            has_signature = not np.array_equal(details["shape"], details["shape_signature"])
            details["shape"] = np.array(shape, np.int32)
            if not has_signature:
                details["shape_signature"] = details["shape"].copy()
        return details


class SignatureRunner(litert.SignatureRunner):  # type: ignore[misc]  # LiteRT has no types
    """A signature that runs on NNAPI devices; it is prepared again for new input shapes."""

    def __call__(self, **inputs: Any) -> dict[str, Array]:
        """Run the signature and return the outputs by name; raise ValueError for wrong input names."""
        if len(inputs) != len(self._inputs):
            raise ValueError(f"the signature takes {pluralize(len(self._inputs), 'input')}, got {len(inputs)}")
        unknown = [name for name in inputs if name not in self._inputs]
        if unknown:
            raise ValueError(f"the signature has no input {', '.join(unknown)}; it has {', '.join(self._inputs)}")
        interpreter, number = self._interpreter, self._subgraph_index
        interpreter._ensure_safe()
        session = interpreter.session(number)
        for name, value in inputs.items():
            session.resize(self._inputs[name], value.shape, False)
        graph = session.allocate()
        for name, value in inputs.items():
            interpreter.set_otherwise(self._inputs[name], value, number)
        try:
            graph.results = graph.run()
        except NnapiError as error:
            raise RuntimeError(str(error)) from error
        return {name: interpreter.get_tensor(index, number) for name, index in self._outputs}


class _Lease:
    """The base object of views of an interpreter's memory: its reference count tells whether views exist."""

    def __init__(self) -> None:
        self.is_borrowed = False
        """Whether there have been views."""

    def borrow(self, array: Array) -> Array:
        self.is_borrowed = True
        return np.asarray(_BorrowedView(self, array))


class _BorrowedView:
    def __init__(self, lease: _Lease, array: Array) -> None:
        self.lease, self.array = lease, array
        self.__array_interface__ = array.__array_interface__


def _find(graph: Graph, index: int) -> Array | None:
    position = graph.positions.get(index)
    return graph.inputs.get(index) if position is None else graph.results[position]
