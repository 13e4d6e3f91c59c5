"""A signature of a compiled model: named inputs and outputs, and runs between buffers."""

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

from nnapi.errors import NnapiError
from nnapi.formats.tflite.reader import Subgraph
from nnapi.litert.interpreter import Interpreter
from nnapi.litert.session import Session
from nnapi.litert.tensor_buffer import ArrayBuffer, describe_array, find_elements
from nnapi.model.operand import Array

PLACEHOLDER = "<placeholder signature>"
"""LiteRT's key for a model without signatures."""
Tensors = Mapping[str, int]
"""Indices of inputs or outputs by name, in the subgraph's order."""


class Signature:
    """A subgraph of a model with names for its inputs and outputs, which are indices of tensors, in its order."""

    def __init__(self, key: str, session: Session, graph: Subgraph, inputs: Tensors, outputs: Tensors) -> None:
        self.key, self.session, self.inputs, self.outputs = key, session, inputs, outputs
        self._tensors = graph.tensors

    def list_inputs(self) -> dict[str, Array]:
        """Return the arrays that the prepared graph reads, by name."""
        held = self.session.allocate().inputs
        return {name: held[index] for name, index in self.inputs.items()}

    def list_outputs(self) -> dict[str, Array]:
        """Return the latest results by name, zeros at first."""
        graph = self.session.allocate()
        return {name: graph.results[graph.positions[index]] for name, index in self.outputs.items()}

    def describe(self, tensors: Tensors, arrays: Mapping[str, Array]) -> dict[str, dict[str, Any]]:
        """Return the tensor's name and index, dtype and shape of each input or output, by its name."""
        named = {name: {"name": self._tensors[index].name, "index": index} for name, index in tensors.items()}
        return {name: named[name] | describe_array(array) for name, array in arrays.items()}

    def resize(self, name: str, shape: Sequence[int], *, strict: bool) -> None:
        try:
            if min(shape, default=1) < 1:
                raise ValueError("dimensions must be positive")
            self.session.resize(self.inputs[name], shape, strict)
        except (RuntimeError, ValueError) as error:
            raise RuntimeError(f"input {name} cannot be resized to {[*shape]}: {error}") from error

    def run(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        """Compute the outputs of inputs, LiteRT's buffers in the subgraph's order. Inputs of other sizes resize it."""
        if len(inputs) != len(self.inputs) or len(outputs) != len(self.outputs):
            counts = f"{len(self.inputs)} input and {len(self.outputs)} output buffers"
            raise RuntimeError(f"signature {self.key} takes {counts}, not {len(inputs)} and {len(outputs)}")
        given = [find_elements(buffer) for buffer in inputs]
        memory = self.list_inputs().values()
        if [array.size for array in given] != [array.size for array in memory]:
            for name, array, tensor in zip(self.inputs, given, memory, strict=True):
                if array.size != tensor.size:
                    self.resize(name, array.shape, strict=True)
            memory = self.list_inputs().values()
        for name, array, tensor in zip(self.inputs, given, memory, strict=True):
            _check_type(name, array, tensor)
            tensor[...] = array if array.shape == tensor.shape else array.reshape(tensor.shape)
        graph = self.session.allocate()
        try:
            results = graph.run()
        except NnapiError as error:
            raise RuntimeError(str(error)) from error
        for buffer, (name, index) in zip(outputs, self.outputs.items(), strict=True):
            result, array = results[graph.positions[index]], find_elements(buffer)
            _check_type(name, array, result)
            if isinstance(buffer, ArrayBuffer) and array.shape == result.shape:
                array[...] = result
            else:
                buffer.write(result)


def list_signatures(interpreter: Interpreter) -> list[Signature]:
    """List the signatures of a file; without any, one with the names of the main subgraph's tensors."""
    file, found = interpreter.file.read(), []
    for number, (key, *named) in file.signatures():
        graph = file.subgraph(number)
        inputs, outputs = (
            {name: indices[position] for name, position in sorted(names, key=itemgetter(1))}
            for names, indices in zip(named, (graph.inputs, graph.outputs), strict=True)
        )
        found.append(Signature(key, interpreter.session(number), graph, inputs, outputs))
    if not found:
        graph = file.subgraph(0)
        inputs, outputs = ({graph.tensors[n].name: n for n in indices} for indices in (graph.inputs, graph.outputs))
        found.append(Signature(PLACEHOLDER, interpreter.session(0), graph, inputs, outputs))
    return found


def _check_type(name: str, given: Array, expected: Array) -> None:
    if given.dtype != expected.dtype:
        raise RuntimeError(f"the buffer of {name} holds {given.dtype}, must hold {expected.dtype}")
