"""Cells whose steps are operations of a net, one after the other, and sequences, which are one operation."""

from typing import Any

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.model.operand import tensor
from nnapi.model.operation import REGISTRY
from nnapi.operation_codes import CompositeCode
from tests.drivers.xnnpack.cell_cases import (
    HIDDEN,
    INPUT,
    SIZE,
    STATE,
    UNITS,
    features,
    inputs_of,
    integers,
    quant_of,
    reals,
    shapes,
)
from tests.drivers.xnnpack.engine_cases import both

TANH, BATCH, TIME = 4, 2, 5
PLAIN = features()
FLOAT_STATE = tensor("float32", (BATCH, UNITS))
INTEGER_STATE, MEMORY = tensor("int8", (BATCH, UNITS), *HIDDEN), tensor("quant16_symm", (BATCH, UNITS), *STATE)


class Cell:
    """A cell whose steps are operations of a net; its weights are the same operands in each."""

    def __init__(self, net: Any, code: Any, values: Any, quantized: Any = None) -> None:
        self.net, self.code = net, code
        names = [slot.name for slot in REGISTRY[code].overloads[0].inputs]
        given = zip(names, inputs_of(code, values, quantized), strict=True)
        self.fixed = {
            name: self._fixed(type, value)
            for name, (type, value) in given
            if name not in ("input", "output_state_in", "output_in", "cell_state_in")
        }
        self.names = names

    def _fixed(self, type: Any, value: Any) -> Any:
        if value is not None:
            return self.net.constant(type, value)
        index = self.net.model.add_operand(type)
        self.net.model.set_operand_value(index, None)
        return index

    def step(self, x: Any, hidden: Any, memory: Any) -> Any:
        """(output, cell state), as operands."""
        states = {"input": x, "output_state_in": hidden, "output_in": hidden, "cell_state_in": memory}
        inputs = [(self.fixed | states)[name] for name in self.names]
        if self.code == Op.LSTM:
            scratch = tensor("float32", (BATCH, 4 * UNITS))
            _, _, after, out = self.net.call(self.code, inputs, scratch, *[FLOAT_STATE] * 3)
            return out, after
        _, after, out = self.net.call(self.code, inputs, INTEGER_STATE, MEMORY, INTEGER_STATE)
        return out, after


def float_cell(
    net: Any, seed: int = 0, activation: int = TANH, cell_clip: float = 0.0, code: Any = Op.LSTM, **more: Any
) -> Cell:
    values = reals(shapes(PLAIN), np.random.default_rng(seed))
    states = dict.fromkeys(("input", "output_state_in", "cell_state_in"))
    options = {"activation": activation, "cell_clip": cell_clip, "proj_clip": 0.0} | more
    return Cell(net, code, values | states | options)


def integer_cell(net: Any, seed: int = 0, kind: Any = PLAIN, code: Any = Op.QUANTIZED_LSTM, **changes: Any) -> Any:
    values = integers(kind, np.random.default_rng(seed), BATCH, 40) | changes
    return Cell(net, code, values, quant_of(kind))


KINDS: dict[str, tuple[Any, Any, Any, Any]] = {
    "float": (float_cell, tensor("float32"), FLOAT_STATE, FLOAT_STATE),
    "integer": (integer_cell, tensor("int8", (), *INPUT), INTEGER_STATE, MEMORY),
}


def random_of(type: Any, random: Any) -> Any:
    if type.dtype.kind == "f":
        return random.uniform(-1, 1, type.dimensions).astype(np.float32)
    limits = np.iinfo(type.dtype)
    return random.integers(limits.min, limits.max, type.dimensions, type.dtype, endpoint=True)


def agree(model: Any, off: int = 0, seed: int = 1) -> None:
    """Assert that two runs on other inputs give what the reference gives: nothing is left of the run before.

    ``off`` is by how much codes may differ.
    """
    random = np.random.default_rng(seed)
    for _ in range(2):
        inputs = [random_of(model.operands[index].type, random) for index in model.inputs]
        for ours, theirs in zip(*both(model, *inputs), strict=True):
            if ours.dtype.kind == "f":
                np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)
            else:
                assert np.abs(ours.astype(int) - theirs).max() <= off


SEQUENCES = {"float": Op.UNIDIRECTIONAL_SEQUENCE_LSTM, "integer": CompositeCode.QUANTIZED_LSTM_SEQUENCE}


def sequence(net: Any, kind: str, axis: int, steps: int = TIME, constant_states: bool = False) -> tuple[Any, ...]:
    """A net's cell along ``axis`` of an input: (outputs, last cell state)."""
    make, type, hidden_type, memory_type = KINDS[kind]
    cell = make(net, code=SEQUENCES[kind], time_major=axis == 0)
    shape = (steps, BATCH) if axis == 0 else (BATCH, steps)
    x = net.input(type.with_dimensions((*shape, SIZE)))
    if constant_states:
        hidden, memory = (net.constant(t, np.zeros(t.dimensions)) for t in (hidden_type, memory_type))
    else:
        hidden, memory = net.input(hidden_type), net.input(memory_type)
    states = {"input": x, "output_state_in": hidden, "output_in": hidden, "cell_state_in": memory}
    inputs = [(cell.fixed | states)[name] for name in cell.names]
    out = hidden_type.with_dimensions((*shape, UNITS))
    outputs, _, memory = net.call(cell.code, inputs, out, hidden_type, memory_type)
    return outputs, memory
