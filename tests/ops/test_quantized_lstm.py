"""QUANTIZED_LSTM."""

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnapi.codes import OperandCode
from nnapi.codes import OperationCode as Op
from nnapi.errors import OpFailedError
from nnapi.model.operand import OperandType, tensor
from nnapi.model.operation import REGISTRY
from nnapi.model.parameter import ScalarParameter
from nnapi.ops.quantized_lstm import _clip, _normalize, _quotient
from tests.ops.recurrent_cases import quickly
from tests.single import run_single

GATES = ("input", "forget", "cell", "output")
INPUT, OUTPUT, STATE = (1 / 64, 5), (1 / 100, -7), (2.0**-11, 0)
WEIGHTS, PEEPHOLE, NORM, HIDDEN = (1 / 128, 0), (2.0**-15, 0), (2.0**-15, 0), (1 / 110, 3)
INTERMEDIATE = 2.0**-9


def quant_of(name: str, kind: Any) -> tuple[float, ...]:
    if name == "input":
        return INPUT
    if name in ("output_in", "output"):
        return OUTPUT if kind["projection"] else HIDDEN
    if name == "cell_state_in":
        return STATE
    return PEEPHOLE if name.startswith("cell_to") else NORM if "norm" in name else WEIGHTS


def run(values: Any, kind: Any, quant: Any = None) -> Any:
    """(output_state_out, cell_state_out, output) codes; None omits an input."""
    inputs = []
    for slot in REGISTRY[Op.QUANTIZED_LSTM].inputs:
        value, code = values.get(slot.name), next(iter(slot.types))  # type: ignore[union-attr]
        if isinstance(slot, ScalarParameter):
            inputs.append((OperandType(code), value))
            continue
        scale, zero_point = (quant or {}).get(slot.name, quant_of(slot.name, kind))
        plain = code == OperandCode.TENSOR_INT32
        shape = (0,) if value is None else np.shape(value)
        inputs.append((OperandType(code, shape, 0 if plain else scale, 0 if plain else zero_point), value))
    out = tensor("quant8_asymm_signed", (), *quant_of("output", kind))  # type: ignore[arg-type]
    return run_single(Op.QUANTIZED_LSTM, inputs, [out, tensor("quant16_symm", (), *STATE), out])


PLAIN = dict.fromkeys(("coupled", "peephole", "norm", "projection"), False) | {"cell_clip": None, "proj_clip": None}
SCALARS = {
    **{f"{gate}_intermediate_scale": INTERMEDIATE for gate in GATES},
    "hidden_state_zero_point": HIDDEN[1],
    "hidden_state_scale": HIDDEN[0],
    "cell_clip": None,
    "proj_clip": None,
}


def still(**changes: Any) -> Any:
    """One unit without weights: all gates half open, nothing new."""
    values = SCALARS | {"input": [[5]], "output_in": [[3]], "cell_state_in": [[3000]]}
    for gate in GATES:
        values |= {f"input_to_{gate}_weights": [[0]], f"recurrent_to_{gate}_weights": [[0]]}
        values["cell_bias" if gate == "cell" else f"{gate}_gate_bias"] = [0]  # type: ignore[list-item]
    return values | changes


def test_literal() -> None:
    # c = 1/2 · 3000 = 1500 codes of 2^-11 = 0.7324; h = 1/2 · tanh(0.7324) = 0.3123 = 34.4 / 110, plus zero point 3
    state, c, out = run(still(), PLAIN)
    assert c.tolist() == [[1500]]
    assert (state.tolist(), out.tolist()) == ([[37]], [[37]])


def test_the_bias_is_in_units_of_the_inputs_products() -> None:
    # tanh(1) · 1/2 · 2^11 = 780 new
    assert run(still(cell_bias=[64 * 128]), PLAIN)[1][0, 0] == pytest.approx(1500 + 780, abs=1)


def test_clips() -> None:
    assert run(still(cell_clip=0.5), PLAIN)[1].tolist() == [[1024]]
    # hidden 34 codes of 1/110 · 127/128 = 0.307 = 30.7 codes of 1/100, clipped at 0.205 = 20, plus zero point -7
    projected = still(projection_weights=[[127]], output_in=[[-7]])
    kind = PLAIN | {"projection": True}
    assert run(projected, kind)[2].tolist() == [[31 - 7]]
    assert run(projected | {"proj_clip": 0.205}, kind)[2].tolist() == [[20 - 7]]


def sigmoid(z: Any) -> Any:
    return 1 / (1 + np.exp(-z))


def real(codes: Any, quant: tuple[float, ...]) -> Any:
    return (np.asarray(codes) - quant[1]) * quant[0]


@st.composite
def cells(draw: st.DrawFn) -> Any:
    kind = {name: draw(st.booleans()) for name in ("coupled", "peephole", "norm", "projection")}
    return kind | {
        "cell_clip": draw(st.sampled_from([None, 0.0, 0.5])),
        "proj_clip": draw(st.sampled_from([None, 0.25])),
    }


@quickly
@given(cells(), st.integers(1, 3), st.integers(1, 4), st.sampled_from([4, 8]), st.integers(0, 2**32))
def test_near_the_real_cell(kind: Any, batch: int, input_size: int, units: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    codes = lambda *shape: random.integers(-128, 128, shape)  # noqa: E731
    output_size = 3 if kind["projection"] else units
    values = SCALARS | {name: kind[name] for name in ("cell_clip", "proj_clip")}
    values |= {"input": codes(batch, input_size), "output_in": codes(batch, output_size)}
    values["cell_state_in"] = random.integers(-2000, 2000, (batch, units))
    x, h = real(values["input"], INPUT), real(values["output_in"], quant_of("output", kind))
    before = real(values["cell_state_in"], STATE)

    def gate(name: Any, state: Any) -> Any:
        w, r = codes(units, input_size), codes(units, output_size)
        bias_name = "cell_bias" if name == "cell" else f"{name}_gate_bias"
        values.update({f"input_to_{name}_weights": w, f"recurrent_to_{name}_weights": r})
        z = x @ real(w, WEIGHTS).T + h @ real(r, WEIGHTS).T
        if kind["peephole"] and name != "cell":
            peephole = values[f"cell_to_{name}_weights"] = random.integers(-32768, 32768, units)
            z = z + state * real(peephole, PEEPHOLE)
        unit = NORM[0] / 1024 if kind["norm"] else INPUT[0] * WEIGHTS[0]
        bias = values[bias_name] = np.int64(random.uniform(-1, 1, units) / unit)
        if kind["norm"]:
            norm = values[f"{name}_layer_norm_weights"] = random.integers(8000, 32768, units)
            z = (z - z.mean(-1, keepdims=True)) / z.std(-1, keepdims=True) * real(norm, NORM)
        return z + bias * unit

    forget = sigmoid(gate("forget", before))
    enter = 1 - forget if kind["coupled"] else sigmoid(gate("input", before))
    c = forget * before + enter * np.tanh(gate("cell", before))
    if kind["cell_clip"]:
        c = np.clip(c, -kind["cell_clip"], kind["cell_clip"])
    out = sigmoid(gate("output", c)) * np.tanh(c)
    if kind["projection"]:
        values["projection_weights"] = codes(output_size, units)
        values["projection_bias"] = codes(output_size) * 10
        out = out @ real(values["projection_weights"], WEIGHTS).T + values["projection_bias"] * WEIGHTS[0] * HIDDEN[0]
        out = np.clip(out, -kind["proj_clip"], kind["proj_clip"]) if kind["proj_clip"] else out
    state, found, output = run(values, kind)
    np.testing.assert_array_equal(state, output)
    # The gates are rounded to codes of the intermediate scale before they are normalized, the hidden state to 1/110.
    assert np.abs(found * STATE[0] - c).max() < (0.02 if kind["norm"] else 0.003)
    scale, zero_point = quant_of("output", kind)
    want = np.clip(out / scale + zero_point, -128, 127)
    error = (0.02 if kind["norm"] else 0.003) + HIDDEN[0] / 2
    reach = np.abs(real(values["projection_weights"], WEIGHTS)).sum(-1) if kind["projection"] else 1
    assert (np.abs(output - want) <= error * reach / scale + 1.5).all()


def test_a_coupled_input_gate_needs_none_of_its_operands() -> None:
    spare = dict.fromkeys(("input_to_input_weights", "recurrent_to_input_weights", "input_gate_bias"))
    _, c, _ = run(still(**spare, forget_gate_bias=[64 * 128], cell_bias=[64 * 128]), PLAIN)
    want = sigmoid(1) * 3000 + (1 - sigmoid(1)) * np.tanh(1) * 2**11
    assert c[0, 0] == pytest.approx(want, abs=3)


@pytest.mark.parametrize(
    ("changes", "quant", "message"),
    [
        ({}, {"cell_state_in": (0.0003, 0)}, "cell_state_in has scale 0.0003, must be a power of two from 2^-15"),
        ({}, {"cell_state_in": (2.0**-8, 0)}, "cell_state_in has scale 0.00390625, must be a power of two"),
        ({"hidden_state_scale": 0.0}, {}, "hidden_state_scale is 0.0, must be above 0"),
        ({"cell_clip": -1.0}, {}, "cell_clip is -1.0, must not be negative"),
        (
            {f"{gate}_layer_norm_weights": [1] for gate in GATES} | {"cell_intermediate_scale": 0.0},
            {},
            "cell_intermediate_scale is 0, must be above 0 with layer normalization",
        ),
        ({"input_gate_bias": None}, {}, "input_gate_bias is omitted, but input_to_input_weights is given"),
        ({"output_in": [[0, 0]]}, {}, "output_in has shape [1, 2], must be [1, 1]"),
    ],
)
def test_refusals(changes: Any, quant: Any, message: str) -> None:
    with pytest.raises(OpFailedError, match=re.escape(message)):
        run(still(**changes), PLAIN, quant)


@pytest.mark.parametrize(
    ("scale", "gates"),
    [
        (2.0**-15, [[-912, -1325, -1694, -2260, 18], [0, 0, 0, 0, 0], [-2866, 615, 818, -1636, 20]]),
        (2.0**-12, [[-7296, -10599, -13554, -18079, 146], [0, 1, -2, 0, 0], [-22928, 4921, 6542, -13087, 160]]),
    ],
)
def test_rows_are_normalized_weighted_and_offset(scale: float, gates: list[list[int]]) -> None:
    """In rows of 5, of which the second is constant: (z - mean) / deviation × weight + bias, in steps of 2^-12."""
    z = np.array([[100, -300, 700, 50, 1000], [5, 5, 5, 5, 5], [-1, 1, 0, 0, 2]])
    weights, bias = np.array([16384, 8192, -16384, 32767, 100]), np.array([0, 1000, -2000, 300, 0])
    assert _normalize(z, weights.astype(np.int16), bias, scale).tolist() == gates
    deviation = z[0].std()
    exact = ((z[0] - z[0].mean()) / deviation * weights + bias / 1024) * scale * 2**12
    np.testing.assert_allclose(gates[0], exact, rtol=0.005, atol=1)


@pytest.mark.parametrize("scale", [2.0**-3, 2.0**-10, 2.0**-15])
def test_a_variance_below_1_is_1(scale: float) -> None:
    """At every scale, in a row of 8 with the mean 1/8, a deviation of 7/8 is not divided."""
    z, weights = np.array([[0, 0, 0, 0, 0, 0, 0, 1]]), np.full(8, round(2.0 / scale))
    expected = np.array([-1, -1, -1, -1, -1, -1, -1, 7]) / 8 * 2 * 2**12
    assert _normalize(z, weights, np.zeros(8, np.int64), scale).tolist() == [expected.astype(int).tolist()]


@pytest.mark.parametrize(("x", "by", "quotient"), [(7, 2, 3), (-7, 2, -3), (6, 3, 2), (-1, 5, 0), (0, 5, 0)])
def test_quotients_are_rounded_towards_0(x: int, by: int, quotient: int) -> None:
    assert _quotient(np.array([x]), by).tolist() == [quotient]


@pytest.mark.parametrize(
    ("clip", "clipped"), [(None, [-900, 5, 900]), (0.0, [-900, 5, 900]), (1.0, [-128, 5, 128]), (0.001, [-900, 5, 900])]
)
def test_values_are_clipped_in_steps_of_their_scale(clip: float | None, clipped: list[int]) -> None:
    """A limit below one step is none."""
    assert _clip(np.array([-900, 5, 900]), clip, 2.0**-7).tolist() == clipped


@pytest.mark.parametrize(("exponent", "is_legal"), [(-16, False), (-15, True), (-9, True), (-8, False)])
def test_the_scale_of_the_state_is_a_power_of_two(exponent: int, is_legal: bool) -> None:
    if is_legal:
        assert infer(exponent) == [(2, 3), (2, 3), (2, 3)]
    else:
        with pytest.raises(OpFailedError, match=f"cell_state_in has scale {2.0**exponent:g}, must be a power of two"):
            infer(exponent)


def infer(exponent: int) -> Any:
    """Infer the results of a cell of 3 units on 2 rows of 4, with a state of a scale of 2 to the power."""
    operands: dict[str, Any] = {slot.name: None for slot in REGISTRY[Op.QUANTIZED_LSTM].inputs}
    for gate in GATES:
        operands[f"input_to_{gate}_weights"] = tensor("quant8_symm", (3, 4), 1 / 128)
        operands[f"recurrent_to_{gate}_weights"] = tensor("quant8_symm", (3, 3), 1 / 128)
        operands[f"{gate}_gate_bias"] = tensor("int32", (3,))
    operands["input"], operands["output_in"] = tensor("int8", (2, 4), *INPUT), tensor("int8", (2, 3), *HIDDEN)
    operands["cell_state_in"] = tensor("quant16_symm", (2, 3), 2.0**exponent)
    shapes = REGISTRY[Op.QUANTIZED_LSTM].shape_function
    assert shapes is not None
    return shapes(**operands)
