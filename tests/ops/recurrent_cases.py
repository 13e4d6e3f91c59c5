"""Shared by tests of recurrent operations: calls by operand name, and LSTM and RNN computed one value at a time."""

import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st

from nnapi.codes import OperandCode
from nnapi.errors import OpFailedError
from nnapi.model.operand import OperandType
from nnapi.model.operation import REGISTRY
from nnapi.model.parameter import ScalarParameter
from tests.single import run_single

quickly = settings(max_examples=25, deadline=None)
GATES = ("input", "forget", "cell", "output")
FLOATS = {"float32": OperandCode.TENSOR_FLOAT32, "float16": OperandCode.TENSOR_FLOAT16}
TOLERANCE = {"float32": {"rtol": 2e-5, "atol": 2e-5}, "float16": {"rtol": 1e-2, "atol": 1e-2}}


def run_named(code: Any, values: Any, outputs: int, dtype: str = "float32", length: int | None = None) -> list[Any]:
    """Run a float operation on inputs by name, in the order the operation lists them; None omits one."""
    slots = REGISTRY[code].overloads[0].inputs[:length]
    assert {slot.name for slot in slots} >= set(values)
    inputs = [_given(slot, values.get(slot.name), dtype) for slot in slots]
    return run_single(code, inputs, [OperandType(FLOATS[dtype])] * outputs)


def _given(slot: Any, value: Any, dtype: str) -> tuple[Any, ...]:
    if isinstance(slot, ScalarParameter):
        code = next(iter(slot.types), OperandCode[dtype.upper()])
        return OperandType(code), np.asarray(value)
    if value is None:
        return OperandType(FLOATS[dtype]), None
    value = np.asarray(value)
    return OperandType(FLOATS[dtype], value.shape), value


def refuses(message: str, code: Any, values: Any, outputs: int, length: Any = None) -> None:
    """The call fails when computing, with this message."""
    with pytest.raises(OpFailedError, match=re.escape(message)):
        run_named(code, values, outputs, length=length)


def assert_near(results: Any, expected: Any, dtype: str) -> None:
    assert len(results) == len(expected)
    for result, want in zip(results, expected, strict=True):
        np.testing.assert_allclose(result, want, **TOLERANCE[dtype])  # type: ignore[call-overload]


def stored(array: Any, dtype: str) -> Any:
    """The numbers as the operation sees them."""
    return np.asarray(array).astype(dtype).astype(np.float64)


# LSTM


@st.composite
def kinds(draw: st.DrawFn) -> Any:
    """Which options a cell uses."""
    return {name: draw(st.booleans()) for name in ("coupled", "peephole", "norm", "projection", "projection_bias")} | {
        "activation": draw(st.sampled_from([0, 1, 3, 4, 6])),
        "cell_clip": draw(st.sampled_from([0.0, 0.25])),
        "proj_clip": draw(st.sampled_from([0.0, 0.125])),
    }


def options(kind: Any) -> Any:
    return {name: kind[name] for name in ("activation", "cell_clip", "proj_clip")}


def weights(
    random: Any, kind: Any, input_size: int, units: int, prefix: str = "", aux_size: int = 0
) -> tuple[Any, ...]:
    """Random operands of one cell by name, and its output size."""

    def array(*shape: Any) -> Any:
        return random.uniform(-0.8, 0.8, shape).astype(np.float32)

    output_size = int(random.integers(1, 4)) if kind["projection"] else units
    gates = GATES[1:] if kind["coupled"] else GATES
    found = {}
    for gate in gates:
        found[f"input_to_{gate}_weights"] = array(units, input_size)
        found[f"recurrent_to_{gate}_weights"] = array(units, output_size)
        found["cell_bias" if gate == "cell" else f"{gate}_gate_bias"] = array(units)
        if kind["peephole"] and gate != "cell":
            found[f"cell_to_{gate}_weights"] = array(units)
        if kind["norm"]:
            found[f"{gate}_layer_norm_weights"] = array(units)
        if aux_size:
            found[f"aux_input_to_{gate}_weights"] = array(units, aux_size)
    if kind["projection"]:
        found["projection_weights"] = array(output_size, units)
        if kind["projection_bias"]:
            found["projection_bias"] = array(output_size)
    return {prefix + name: value for name, value in found.items()}, output_size


def lstm_by_hand(
    w: Any, kind: Any, x: Any, h: Any, c: Any, aux: list[float] | None = None, dtype: str = "float32"
) -> tuple[Any, ...]:
    """One step for lists x, h, c of one batch, with plain floats: the new (h, c)."""
    w = {name: stored(value, dtype).tolist() for name, value in w.items()}
    sigmoid = lambda z: 1 / (1 + math.exp(-z))  # noqa: E731
    act = {
        0: lambda z: z,
        1: lambda z: max(z, 0),
        3: lambda z: min(max(z, 0), 6),
        4: math.tanh,
        6: sigmoid,
    }[kind["activation"]]
    clip = lambda z, limit: min(max(z, -limit), limit) if limit else z  # noqa: E731

    def gate(name: Any, state: Any) -> Any:
        sums = []
        for unit in range(len(c)):
            total = dot(w[f"input_to_{name}_weights"][unit], x) + dot(w[f"recurrent_to_{name}_weights"][unit], h)
            if aux is not None:
                total += dot(w[f"aux_input_to_{name}_weights"][unit], aux)
            if kind["peephole"] and name != "cell":
                total += w[f"cell_to_{name}_weights"][unit] * state[unit]
            sums.append(total)
        if kind["norm"]:
            mean = sum(sums) / len(sums)
            deviation = math.sqrt(sum((total - mean) ** 2 for total in sums) / len(sums)) or 1.0
            norm = w[f"{name}_layer_norm_weights"]
            sums = [(total - mean) / deviation * norm[unit] for unit, total in enumerate(sums)]
        bias = w["cell_bias" if name == "cell" else f"{name}_gate_bias"]
        return [total + bias[unit] for unit, total in enumerate(sums)]

    forget = [sigmoid(z) for z in gate("forget", c)]
    enter = [1 - f for f in forget] if kind["coupled"] else [sigmoid(z) for z in gate("input", c)]
    fresh = [act(z) for z in gate("cell", c)]
    c = [clip(f * old + i * new, kind["cell_clip"]) for f, old, i, new in zip(forget, c, enter, fresh, strict=True)]
    out = [sigmoid(z) * act(state) for z, state in zip(gate("output", c), c, strict=True)]
    if kind["projection"]:
        bias = w.get("projection_bias", [0.0] * len(w["projection_weights"]))
        out = [clip(dot(row, out) + b, kind["proj_clip"]) for row, b in zip(w["projection_weights"], bias, strict=True)]
    return out, c


def lstm_over_time(
    w: Any, kind: Any, x: Any, h: Any, c: Any, aux: Any = None, backward: bool = False, dtype: str = "float32"
) -> tuple[Any, ...]:
    """All outputs [time, batch, output_size] and the last h and c for x [time, batch, size]."""
    x, h, c = (stored(array, dtype).tolist() for array in (x, h, c))
    aux = None if aux is None else stored(aux, dtype).tolist()
    outputs = {}
    for t in sorted(range(len(x)), reverse=backward):
        pairs = [
            lstm_by_hand(w, kind, x[t][b], h[b], c[b], None if aux is None else aux[t][b], dtype) for b in range(len(h))
        ]
        h, c = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        outputs[t] = h
    return np.array([outputs[t] for t in range(len(x))]), np.array(h), np.array(c)


# RNN


def rnn_over_time(
    w: Any, activation: int, x: Any, h: Any, aux: Any = None, backward: bool = False, dtype: str = "float32"
) -> tuple[Any, ...]:
    """All outputs [time, batch, units] and the last state for x [time, batch, size]."""
    w = {name: stored(value, dtype).tolist() for name, value in w.items()}
    x, h = stored(x, dtype).tolist(), stored(h, dtype).tolist()
    aux = None if aux is None else stored(aux, dtype).tolist()
    low, high = {0: (-math.inf, math.inf), 1: (0, math.inf), 2: (-1, 1), 3: (0, 6)}[activation]
    outputs = {}
    for t in sorted(range(len(x)), reverse=backward):
        new = []
        for b, state in enumerate(h):
            totals = [
                dot(w["weights"][u], x[t][b]) + dot(w["recurrent_weights"][u], state) + w["bias"][u]
                for u in range(len(w["bias"]))
            ]
            if aux is not None:
                totals = [total + dot(w["aux_weights"][u], aux[t][b]) for u, total in enumerate(totals)]
            new.append([min(max(total, low), high) for total in totals])
        outputs[t] = h = new
    return np.array([outputs[t] for t in range(len(x))]), np.array(h)


def dot(a: list[float], b: Any) -> Any:
    return sum(left * right for left, right in zip(a, b, strict=True))
