"""Build models from examples, through the public calls of a model."""

from typing import Any

import numpy as np

from nnapi.compiling import compile
from nnapi.errors import BadDataError, need_value
from nnapi.model.memory import Memory
from nnapi.model.model import Model
from nnapi.model.nesting import inner_first
from nnapi.model.operand import Array
from nnapi.operation_codes import CODES
from nnapi.runtime.device import Device
from nnapi.testing import runtime_classes
from nnapi.testing.example import Example, ExampleGraph, OperandSource

MAIN = -1
"""The index of the main graph among those of the referenced graphs."""
ALIGNMENT = 64
"""Alignment of constants in a shared memory, in bytes."""


def build(example: Example, classes: Any = runtime_classes) -> Model:
    """Build and finish the model of an example. ``classes`` is the module whose Model and Memory are used."""
    model = describe(example, classes)
    model.finish()
    return model


def run_example(example: Example, device: Device) -> list[Array]:
    """Return the outputs of an example on one device, with one thread; raise the errors of building and running."""
    compilation = compile(build(example), [device], threads=1)
    return compilation.run(*(example.inputs[index] for index in example.main.inputs))


def describe(example: Example, classes: Any = runtime_classes) -> Model:
    """Build the model of an example as :func:`build` does, but do not finish the main model."""
    builder = _Builder(example, classes)
    *inner, main = inner_first(MAIN, lambda number: _list_references(builder.graph(number)))
    for number in inner:
        builder.made[number] = builder.describe(number)
        builder.made[number].finish()
    return builder.describe(main)


def _list_references(graph: ExampleGraph) -> list[int]:
    found = [operand.subgraph for operand in graph.operands if operand.lifetime == OperandSource.SUBGRAPH]
    return [number for number in found if number is not None]


class _Builder:
    """Builds an example's models, by number of their graph; one memory holds all CONSTANT_REFERENCE values."""

    def __init__(self, example: Example, classes: Any) -> None:
        self.example, self.classes = example, classes
        self.made: dict[int, Model] = {}
        self._offsets: dict[int, int] = {}
        content = bytearray()
        for operand in (operand for graph in example.graphs for operand in graph.operands):
            if operand.lifetime == OperandSource.CONSTANT_REFERENCE and operand.data is not None:
                self._offsets[id(operand)] = len(content)
                content += operand.data.tobytes()
                content += bytes(-len(content) % ALIGNMENT)
        self._memory: Memory = classes.Memory.from_array(np.frombuffer(content, np.uint8))

    def graph(self, number: int) -> ExampleGraph:
        return self.example.main if number == MAIN else self.example.referenced[number]

    def describe(self, number: int) -> Model:
        graph = self.graph(number)
        model: Model = self.classes.Model(graph.name or self.example.name)
        if self.example.high_ranks:
            model.permit_high_ranks(True)
        model.permit_empty_tensors(graph.empty_tensors)
        for operand in graph.operands:
            index = model.add_operand(operand.operand_type, operand.name)
            quant = operand.channel_quant
            if quant and not quant.hide:
                model.set_operand_symm_per_channel_quant_params(index, quant.channel_dim, quant.scales)
            is_empty = operand.data is not None and not operand.data.nbytes
            if operand.lifetime == OperandSource.CONSTANT_COPY or is_empty:
                model.set_operand_value(index, operand.data)
            elif operand.lifetime == OperandSource.CONSTANT_REFERENCE and operand.data is not None:
                offset = self._offsets[id(operand)]
                model.set_operand_value_from_memory(index, self._memory, offset, operand.data.nbytes)
            elif operand.lifetime == OperandSource.NO_VALUE:
                model.set_operand_value(index, None)
            elif operand.lifetime == OperandSource.SUBGRAPH and operand.subgraph is not None:
                model.set_operand_value_from_model(index, self._find(operand.subgraph))
        for operation in graph.operations:
            model.add_operation(CODES[operation.type], operation.inputs, operation.outputs)
        model.identify_inputs_and_outputs(graph.inputs, graph.outputs)
        model.relax_computation_float32_to_float16(self.example.relaxed)
        return model

    def _find(self, number: int) -> Model:
        message = f"{self.example.name}: referenced graph {number} refers to itself"
        return need_value(self.made.get(number), message, BadDataError)
