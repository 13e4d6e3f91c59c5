"""GRU, RNN_SEQUENCE and LSTM_SEQUENCE: literal results, a second implementation, lengths, ranges of arguments."""

from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi.errors import NnapiError
from nnapi.model.operand import Array
from nnapi.model.operation import REGISTRY
from tests.ops.sequence_cases import CASES, CODES, GATES, OPTIONS, draw_operands, make_model
from tests.rows import each_row

REFERENCE = "nnapi-reference"


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


FUNCTIONS: dict[int, Any] = {0: lambda x: x, 1: lambda x: np.maximum(x, 0), 4: np.tanh, 6: sigmoid}


def compute_row(kind: str, row: Array, w: dict[str, Any], o: dict[str, Any]) -> tuple[list[Array], Array, Array]:
    """Run a cell over one row of the batch, unit by unit, in float64; return all outputs and the last states."""
    units, gates = w["hidden_in"].shape[0], GATES[kind]
    h, c, outputs = w["hidden_in"].copy(), w.get("cell_state_in", np.zeros(units)).copy(), []
    bound = o.get("clip") or np.inf
    peep = np.zeros((3, units)) if w.get("peepholes") is None else w["peepholes"].reshape(3, units)

    def limit(x: Any) -> Any:
        return np.clip(x, -bound, bound)

    def at(name: str, gate: int) -> Any:
        return w[name].reshape(gates, units, *w[name].shape[1:])[gate]

    def total(gate: int, x: Array) -> Any:
        return at("weights", gate) @ x + at("bias", gate) + at("recurrent_weights", gate) @ h

    for x in row:
        if kind == "gru":
            squash, last = FUNCTIONS[o["gate_activation"]], FUNCTIONS[o["activation"]]
            z, r = (squash(limit(total(gate, x) + at("recurrent_bias", gate))) for gate in (0, 1))
            if o["linear_before_reset"]:
                kept = r * (at("recurrent_weights", 2) @ h + at("recurrent_bias", 2))
            else:
                kept = at("recurrent_weights", 2) @ (r * h) + at("recurrent_bias", 2)
            h = z * h + (1 - z) * last(limit(at("weights", 2) @ x + at("bias", 2) + kept))
        elif kind == "rnn_sequence":
            h = FUNCTIONS[o["activation"]](limit(total(0, x)))
        else:
            squash = FUNCTIONS[o["gate_activation"]]
            entry = squash(limit(total(0, x) + peep[0] * c))
            forget = 1 - entry if o["input_forget"] else squash(limit(total(2, x) + peep[2] * c))
            c = forget * c + entry * FUNCTIONS[o["cell_activation"]](limit(total(3, x)))
            h = squash(limit(total(1, x) + peep[1] * c)) * FUNCTIONS[o["hidden_activation"]](c)
        outputs.append(h)
    return outputs, h, c


def compute(kind: str, x: Array, w: dict[str, Any], o: dict[str, Any], lengths: Any) -> list[Array]:
    """Run a cell over each row of a time-major sequence up to its length; return the results of the operation."""
    steps, batch, _ = x.shape
    units = w["hidden_in"].shape[1]
    whole, last, memory = np.zeros((steps, batch, units)), np.zeros((batch, units)), np.zeros((batch, units))
    for k, length in enumerate(np.clip(np.full(batch, steps) if lengths is None else lengths, 0, steps)):
        times = np.arange(length)[:: -1 if o.get("reverse") else 1]
        if length:
            states = {name: w[name][k] for name in ("hidden_in", "cell_state_in") if name in w}
            outputs, last[k], memory[k] = compute_row(kind, x[times, k].astype(np.float64), w | states, o)
            whole[times, k] = outputs
    return [whole, last, memory][: 3 if kind == "lstm_sequence" else 2]


@each_row(("kind", "variant"), CASES, ids=str)
def test_the_kernel_is_the_formula_row_by_row(kind: str, variant: dict[str, Any]) -> None:
    model, given = make_model(kind, steps=5, **variant)
    made = nnapi.compile(model, REFERENCE).run(*given)
    random = np.random.default_rng(5 + 3)
    time_major = variant.get("time_major", True)
    random.uniform(-1, 1, given[0].shape)  # as the model's input was drawn
    x = given[0]
    operands: dict[str, Any] = dict(draw_operands(kind, 3, 5, 4, random))
    if not variant.get("peepholes"):
        operands.pop("peepholes", None)
    lengths = variant.get("lengths")
    options = OPTIONS[kind] | variant
    expected = compute(
        kind, x if time_major else x.swapaxes(0, 1), operands, options, given[1] if lengths == "computed" else lengths
    )
    expected[0] = expected[0] if time_major else expected[0].swapaxes(0, 1)
    for one, other in zip(made, expected, strict=True):
        np.testing.assert_allclose(one, other, 1e-5, 1e-6)


def test_a_gru_of_one_unit() -> None:
    """The update gate is 1/2, and the candidate tanh(x + h/2) after the reset gate of 1/2."""
    b = nnapi.Builder()
    x = b.input(nnapi.tensor("float32", (2, 1, 1)))
    matrices = np.array([[0], [0], [1]], np.float32), np.array([[0], [0], [1]], np.float32)
    zeros = np.zeros(3, np.float32)
    b.output(*b.gru(x, *matrices, zeros, zeros, np.ones((1, 1), np.float32), None, 6, 4, 0.0, False, False, True))
    outputs, last = nnapi.compile(b.finish(), REFERENCE).run(np.array([[[0.5]], [[0]]], np.float32))
    first = (np.tanh(1.0) + 1) / 2
    second = (np.tanh(first / 2) + first) / 2
    np.testing.assert_allclose(outputs.ravel(), [first, second], 1e-6)
    np.testing.assert_allclose(last.ravel(), [second], 1e-6)


def test_lengths_end_rows_and_zero_gives_zeros() -> None:
    """An RNN without an activation that adds its inputs."""
    b = nnapi.Builder()
    x = b.input(nnapi.tensor("float32", (3, 4, 1)))
    lengths = b.input(nnapi.tensor("int32", (4,)))
    one, start = np.ones((1, 1), np.float32), np.full((4, 1), 10, np.float32)
    b.output(*b.rnn_sequence(x, one, one, np.zeros(1, np.float32), start, lengths, 0, 0.0, False, True))
    compiled = nnapi.compile(b.finish(), REFERENCE)
    outputs, last = compiled.run(np.ones((3, 4, 1), np.float32), np.array([1, 7, 0, -2], np.int32))
    assert outputs[:, :, 0].T.tolist() == [[11, 0, 0], [11, 12, 13], [0, 0, 0], [0, 0, 0]]
    assert last.ravel().tolist() == [11, 13, 0, 0]


@pytest.mark.parametrize("kind", GATES)
def test_float16_is_computed(kind: str) -> None:
    slots = {slot.name for slot in REGISTRY[CODES[kind]].overloads[0].inputs}
    b, random = nnapi.Builder(), np.random.default_rng(0)
    operands: dict[str, Any] = {
        name: array.astype(np.float16) for name, array in draw_operands(kind, 1, 2, 3, random).items() if name in slots
    }
    x = b.input(nnapi.tensor("float16", (2, 1, 2)))
    scalars = OPTIONS[kind] | {"clip": 0.5, "reverse": False, "time_major": True}
    b.output(*getattr(b, kind)(x, **operands, sequence_lengths=None, **scalars))
    value = random.uniform(-1, 1, (2, 1, 2)).astype(np.float16)
    made = nnapi.compile(b.finish(), REFERENCE).run(value)
    reals = {name: array.astype(np.float64) for name, array in operands.items()}
    for one, other in zip(made, compute(kind, value, reals, OPTIONS[kind] | {"clip": 0.5}, None), strict=True):
        np.testing.assert_allclose(one, other, 0, 2e-3)


@pytest.mark.parametrize(
    ("name", "shape", "message"),
    [
        ("weights", (9, 5), r"weights has shape \[9, 5\], must be \[12, 5\]"),
        ("recurrent_weights", (11, 4), r"recurrent_weights has shape \[11, 4\], must be \[12, 4\]"),
        ("bias", (4,), r"bias has shape \[4\], must be \[12\]"),
        ("recurrent_bias", (4,), r"recurrent_bias has shape \[4\], must be \[12\]"),
        ("hidden_in", (2, 4), r"hidden_in has shape \[2, 4\], must be \[3, 4\]"),
        ("sequence_lengths", (2,), r"sequence_lengths has shape \[2\], must be \[3\]"),
    ],
)
def test_operands_that_do_not_fit_together(name: str, shape: tuple[int, ...], message: str) -> None:
    operands: dict[str, Any] = dict(draw_operands("gru", 3, 5, 4, np.random.default_rng(0)))
    operands["sequence_lengths"] = np.ones(3, np.int32)
    operands[name] = np.ones(shape, operands[name].dtype)
    b = nnapi.Builder()
    x = b.input(nnapi.tensor("float32", (6, 3, 5)))
    with pytest.raises(NnapiError, match=message):
        b.gru(x, **operands, **OPTIONS["gru"], clip=0.0, reverse=False, time_major=True)


@pytest.mark.parametrize(("change", "message"), [({"activation": 2}, "must be one of"), ({"clip": -1.0}, "negative")])
def test_scalars_out_of_range(change: dict[str, Any], message: str) -> None:
    with pytest.raises(NnapiError, match=message):
        make_model("rnn_sequence", 2, **change)
