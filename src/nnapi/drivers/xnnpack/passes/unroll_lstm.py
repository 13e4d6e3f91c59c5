"""Decompose LSTM cells into products, activations and arithmetic, which take a fraction of the time of LiteRT's cells.

Float cells give the same results. Integer cells give the same 8-bit output within 1 LSB, as roundings to 16 bits are
omitted. A gate differs by less than 2.5e-4: two roundings by 2**-13 at a slope of at most 1/4, and up to 6 · 2**-15 of
the polynomial. Candidate and activated state differ by 6e-4. So the output differs by 2e-3, half of 1 LSB at scale
1/256. The cell state may differ by more than 1 LSB. So a cell whose new state is read stays, unless the model permits
rounded states.
"""

from typing import Any

import numpy as np

from nnapi.drivers.litert.lstm_cells import (
    BIASES,
    HIDDEN,
    MEMORY,
    RECURRENT,
    SEQUENCE,
    STEP,
    WEIGHTS,
    count_steps,
    is_plain,
)
from nnapi.drivers.xnnpack.passes.float_weights import dequantize_constant
from nnapi.formats.tflite.graph import Graph, Operator, Tensor, constant
from nnapi.model.operand import Array
from nnapi.ops.lstm_parameters import GATES

GATE_LIMIT = 8.0
"""Clamp of integer gates before their activation."""
FAR = 2.0**20
"""Clamp of float gates. LOGISTIC is constant long before, and NaN for some values far beyond."""
NEAR = FAR / 2
"""Maximum term that can be added to a clamped sum without a change of its LOGISTIC."""
LARGEST_STATE = 32767
SQUASH = {1: ("RELU", np.inf), 3: ("RELU6", 6.0), 4: ("TANH", 1.0)}
"""Operator and maximum magnitude of each activation, by FuseCode."""
NO_ACTIVATION, WITHIN_ONE = 0, 2


def unroll_lstm(graph: Graph, *, rounds_states: bool = False) -> Graph:
    """Return the graph with cells decomposed; ``rounds_states`` permits it for integer cells whose state is read."""
    read = {tensor for operator in graph.operators for tensor in operator.inputs} | set(graph.outputs)

    def decompose(operator: Operator) -> list[Operator] | None:
        is_cell = operator.kind in (STEP, SEQUENCE) and is_plain(operator, operator.outputs[1] in read, rounds_states)
        return _Cell(operator).decompose() if is_cell else None

    return graph.rewrite(decompose)


class _Cell:
    """A cell to decompose. Integer gates are computed in units of GATE_LIMIT, so that they are clamped to ±1."""

    def __init__(self, operator: Operator) -> None:
        self.operator = operator
        self.written: list[Operator] = []
        self.length = count_steps(operator)
        self.out, self.after = operator.outputs
        self.is_integer = self.out.type == "i8"
        x, hidden, memory = (operator.input(i) for i in (0, HIDDEN, MEMORY))
        self.x, self.batch, self.units = x, memory.shape[0], memory.shape[1]
        self.hidden, self.memory = self._read_state(hidden), self._read_state(memory)
        self.swaps = operator.kind == SEQUENCE and not operator.options["time_major"] and min(x.shape[:2]) > 1
        self.reach = np.inf if memory.data is None else float(np.abs(_real(memory)).max())
        self.limit = operator.options["cell_clip"] or np.inf
        if self.is_integer:
            self.limit = min(self.limit, LARGEST_STATE * memory.unit)
        self.squash, self.largest = SQUASH[operator.options["activation"]]
        unused = "input" if operator.inputs[1] is None else "forget" if self._forgets_nothing() else ""
        self.gates = [gate for gate in GATES if gate != unused]
        self.shape = (self.batch, self.units)
        self.rows, self.along_gates = constant((self.batch, len(self.gates) * self.units)), constant(1)
        self.unit, self.one = (constant([number], "f32") for number in (GATE_LIMIT, 1.0))
        self.recurrent = self._stack(RECURRENT)
        self.seen_again = self._join(RECURRENT)
        self.is_cut_once = not self.is_integer and self._remembers_little()

    def decompose(self) -> list[Operator]:
        summed = self._sum_inputs()
        self._deliver([self._step(self._add_recurrent(summed, time)) for time in range(self.length)])
        if not self.is_integer:
            self._finish("RESHAPE", [self._emit_state(self.memory), constant(self.after.shape)], self.after)
        else:
            self._finish("QUANTIZE", [self._emit_state(self.memory)], self.after)
        return self.written

    def _forgets_nothing(self) -> bool:
        """Return whether the only step begins with a cell state of zero, so that the forget gate has no effect."""
        return self.length == 1 and isinstance(self.memory, np.ndarray) and not self.memory.any()

    def _remembers_little(self) -> bool:
        """Return whether the recurrent products are so small that clamping the input's sums once suffices."""
        if not isinstance(self.hidden, np.ndarray) or self.squash == "RELU":
            return False
        most = np.abs(self.recurrent).sum(1, np.float64).max() * max(self.largest, np.abs(self.hidden).max())
        return bool(most <= NEAR)

    # Sums

    def _sum_inputs(self) -> Tensor:
        """Return the input's part of the gates for all steps: [time · batch, gates · units]."""
        x = self.x
        rows = self.length * self.batch
        if self.is_integer:
            x = self._emit("DEQUANTIZE", [x], x.shape)
        if self.swaps:
            x = self._emit("TRANSPOSE", [x, constant([1, 0, 2])], (x.shape[1], x.shape[0], x.shape[2]))
        x = self._reshape(x, (rows, x.shape[-1]))
        constants = self._join(WEIGHTS), self._number(self._stack_biases())
        summed = self._multiply(x, *constants, WITHIN_ONE if self.is_integer else NO_ACTIVATION)
        return self._limit(summed, FAR) if self.is_cut_once else summed

    def _add_recurrent(self, summed: Tensor, time: int) -> Tensor:
        """Add the last output's part of the gates at one step: [batch, gates · units]."""
        act = WITHIN_ONE if self.is_integer else NO_ACTIVATION
        if self.length > 1:
            begin, shape = constant([time * self.batch, 0]), (self.batch, summed.shape[1])
            summed = self._emit("SLICE", [summed, begin, self.rows], shape)
        if isinstance(self.hidden, np.ndarray):
            seen = self._number(self.hidden @ self.recurrent.T) if self.hidden.any() else None
        else:
            seen = self._multiply(self.hidden, self.seen_again, None, NO_ACTIVATION)
        total = summed if seen is None else self._pair("ADD", summed, seen, act)
        if self.is_integer:
            return self._pair("MUL", total, self.unit)
        return total if self.is_cut_once or self.squash == "RELU" else self._limit(total, FAR)

    def _multiply(self, x: Tensor, weights: Tensor, bias: Tensor | None, activation: int) -> Tensor:
        shape = (x.shape[0], weights.shape[0])
        return self._emit("FULLY_CONNECTED", [x, weights, bias], shape, activation=activation)

    def _stack(self, positions: range) -> Array:
        return np.concatenate([_real(self._constant(positions, gate)) for gate in self.gates]) / self._unit()

    def _join(self, positions: range) -> Tensor:
        """Return the stacked weights as a tensor; quantized if a float cell has quantized weights."""
        parts = [self._constant(positions, gate) for gate in self.gates]
        if self.is_integer or any(part.type != "i8" for part in parts):
            return self._number(self._stack(positions))
        quantized, scales = (np.concatenate(each) for each in zip(*[(p.value, p.scale) for p in parts], strict=True))
        return Tensor("i8", quantized.shape, scales, data=quantized, name=parts[0].name)

    def _stack_biases(self) -> Array:
        parts = []
        for gate in self.gates:
            bias = self._constant(BIASES, gate).value
            scale = self.x.unit * self._constant(WEIGHTS, gate).unit if self.is_integer else 1.0
            parts.append((bias * np.float64(scale)).astype(np.float32))
        return np.concatenate(parts) / self._unit()

    def _unit(self) -> np.float32:
        return np.float32(GATE_LIMIT if self.is_integer else 1)

    def _constant(self, positions: range, gate: str) -> Tensor:
        return self.operator.input(positions[GATES.index(gate)])

    # A step

    def _step(self, total: Tensor) -> Tensor:
        """Compute one step; update the states, and return the output in the operator's type."""
        pieces = [self._new(self.shape) for _ in self.gates]
        self.written.append(Operator("SPLIT", [self.along_gates, total], pieces, {"num_splits": len(pieces)}))
        seen = {gate: self._gate(gate, piece) for gate, piece in zip(self.gates, pieces, strict=True)}
        if "input" not in seen:
            seen["input"] = self._pair("SUB", self.one, seen["forget"])
        memory = self._pair("MUL", seen["input"], seen["cell"])
        if not isinstance(self.memory, np.ndarray) or self.memory.any():
            memory = self._pair("ADD", memory, self._pair("MUL", seen["forget"], self._emit_state(self.memory)))
        self.memory = memory = self._clip(memory)
        hidden = self._pair("MUL", seen["output"], self._squash(self.squash, memory))
        if not self.is_integer:
            self.hidden = hidden
            return hidden
        quantized = self._emit("QUANTIZE", [hidden], hidden.shape, like=self.out)
        self.hidden = self._emit("DEQUANTIZE", [quantized], hidden.shape)
        return quantized

    def _gate(self, gate: str, sums: Tensor) -> Tensor:
        if gate == "cell":
            return self._squash(self.squash, sums)
        if self.squash == "RELU":  # the candidate of RELU must not be clamped
            sums = self._limit(sums, FAR)
        return self._squash("LOGISTIC", sums)

    def _clip(self, memory: Tensor) -> Tensor:
        self.reach += self.largest
        if self.reach <= self.limit:
            return memory
        self.reach = self.limit
        return self._limit(memory, self.limit)

    def _limit(self, x: Tensor, limit: float) -> Tensor:
        for kind, end in (("MINIMUM", limit), ("MAXIMUM", -limit)):
            x = self._emit(kind, [x, self._number(np.full(1, end))], x.shape)
        return x

    def _deliver(self, outputs: list[Tensor]) -> None:
        whole = outputs[0]
        if self.length > 1:
            joined = (self.length * self.batch, self.units)
            whole = self._emit("CONCATENATION", outputs, joined, like=whole, axis=0, activation=NO_ACTIVATION)
        if self.swaps:
            shape = (self.length, self.batch, self.units)
            apart = self._emit("RESHAPE", [whole, constant(shape)], shape, like=whole)
            self._finish("TRANSPOSE", [apart, constant([1, 0, 2])], self.out)
        else:
            self._finish("RESHAPE", [whole, constant(self.out.shape)], self.out)

    # Operators

    def _emit(
        self, kind: str, inputs: list[Any], shape: tuple[int, ...], like: Tensor | None = None, **options: Any
    ) -> Tensor:
        output = self._new(shape) if like is None else like.like(shape=shape)
        self.written.append(Operator(kind, inputs, [output], options))
        return output

    def _finish(self, kind: str, inputs: list[Any], output: Tensor, **options: Any) -> Tensor:
        self.written.append(Operator(kind, inputs, [output], options))
        return output

    def _pair(self, kind: str, a: Tensor, b: Tensor, activation: int = NO_ACTIVATION) -> Tensor:
        shape = a.shape if a.size >= b.size else b.shape
        return self._emit(kind, [a, b], shape, activation=activation)

    def _squash(self, kind: str, x: Tensor) -> Tensor:
        return self._emit(kind, [x], x.shape)

    def _reshape(self, x: Tensor, shape: tuple[int, ...]) -> Tensor:
        return x if x.shape == shape else self._emit("RESHAPE", [x, constant(shape)], shape)

    def _new(self, shape: tuple[int, ...]) -> Tensor:
        return Tensor("f32", shape, 0.0, 0, 0, None, self.out.name, False, self.out.origin)

    def _number(self, values: Array) -> Tensor:
        return constant(values, "f32")

    def _read_state(self, state: Tensor) -> Tensor | Array:
        """Return a state as float32: an array if it is constant, else a tensor."""
        if state.data is not None:
            return _real(state)
        return self._emit("DEQUANTIZE", [state], state.shape) if self.is_integer else state

    def _emit_state(self, state: Tensor | Array) -> Tensor:
        return self._number(state) if isinstance(state, np.ndarray) else state


def _real(tensor: Tensor) -> Array:
    return tensor.value if tensor.type == "f32" else dequantize_constant(tensor).value
