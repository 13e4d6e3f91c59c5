"""LSTM, GRU and RNN as the engine's sequences, against the reference."""

from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi.codes import OperationCode as Op
from nnapi.model.model import Model
from nnapi.model.operand import Array, tensor
from nnapi.runtime.device import Device, device
from tests.drivers.xnnpack.cell_cases import BATCH, SIZE, TIME, UNITS, features, inputs_of, reals, shapes
from tests.ops.sequence_cases import CASES, make_model
from tests.rows import each_row
from tests.single import run_single, single

pytest.importorskip("nnapi.drivers.openvino.api", reason="OpenVINO is an extra: nnapi[openvino]")
from nnapi.drivers.openvino import OpenVinoDriver
from nnapi.drivers.openvino.engine import lower_model
from nnapi.drivers.openvino.rules import recurrent, recurrent_loop

pytestmark = pytest.mark.engine

FLOAT = tensor("float32")
DEVICES = Device(OpenVinoDriver(threads=1)), device("nnapi-reference")


def lstm(time_major: bool = True, activation: int = 4, cell_clip: float = 0, **options: Any) -> list[Any]:
    kind, random = features(*options), np.random.default_rng(7)
    outer = (TIME, BATCH) if time_major else (BATCH, TIME)
    width = 2 if "projection" in options else UNITS
    states = {"output_state_in": (BATCH, width), "cell_state_in": (BATCH, UNITS)}
    values = reals(shapes(kind) | {"input": (*outer, SIZE)} | states, random)
    scalars = {"activation": activation, "cell_clip": cell_clip, "proj_clip": 0.0, "time_major": time_major}
    return inputs_of(Op.UNIDIRECTIONAL_SEQUENCE_LSTM, values | scalars)


@pytest.mark.parametrize("time_major", [False, True])
@pytest.mark.parametrize("results", [1, 3])
def test_lstm(time_major: bool, results: int) -> None:
    given, types = lstm(time_major), [FLOAT] * results
    ours, right = (
        run_single(Op.UNIDIRECTIONAL_SEQUENCE_LSTM, given, types, constant=True, devices=[one]) for one in DEVICES
    )
    for one, other in zip(ours, right, strict=True):
        np.testing.assert_allclose(one, other, 1e-5, 1e-6)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"coupled": True}, "no peepholes, no normalization and no projection"),
        ({"peephole": True}, "no peepholes"),
        ({"norm": True}, "no peepholes"),
        ({"projection": True}, "no peepholes"),
        ({"activation": 1}, "squashes by TANH"),
        ({"cell_clip": 0.5}, "does not clip its state"),
    ],
)
def test_other_cells_are_refused(options: Any, reason: str) -> None:
    (verdict,) = lower_model(single(Op.UNIDIRECTIONAL_SEQUENCE_LSTM, lstm(**options), [FLOAT], constant=True)).verdicts
    assert reason in verdict.reason


def test_computed_weights_are_refused() -> None:
    (verdict,) = lower_model(single(Op.UNIDIRECTIONAL_SEQUENCE_LSTM, lstm(), [FLOAT])).verdicts
    assert "the engine's LSTM takes constant weights" in verdict.reason


def check(model: Model, given: list[Array], within: float = 2e-6) -> None:
    """Compare the engine with the reference; the engine must take the whole model."""
    (verdict,) = lower_model(model).verdicts
    assert verdict.supported, verdict.reason
    ours, right = (nnapi.compile(model, one).run(*given) for one in DEVICES)
    for one, other in zip(ours, right, strict=True):
        np.testing.assert_allclose(one, other, 0, within)


@each_row("sizes", [(5, 3, 4), (23, 1, 1)], ids=["", "unit"])
@each_row(("kind", "variant"), CASES, ids=str)
def test_composites(kind: str, variant: dict[str, Any], sizes: tuple[int, int, int]) -> None:
    steps, batch, units = sizes
    if isinstance(variant.get("lengths"), list):
        variant = variant | {"lengths": variant["lengths"][:batch]}
    lacking = variant.get("activation") == 0 or bool({"peepholes", "input_forget"} & set(variant))
    if lacking:  # the identity, peepholes, coupled gates: not decomposed, as NNAPI's cells are not
        (verdict,) = lower_model(make_model(kind, steps, batch, units=units, **variant)[0]).verdicts
        assert "the engine's" in verdict.reason
        return
    check(*make_model(kind, steps, batch, units=units, **variant))


def find_kinds(model: Model) -> list[str]:
    return [node.get_type_name() for node in lower_model(model).graph().get_ops()]


OWN = {"gru": "GRUSequence", "rnn_sequence": "RNNSequence", "lstm_sequence": "LSTMSequence"}


@pytest.mark.parametrize(
    ("kind", "units", "options", "is_own"),
    [
        ("gru", 4, {"linear_before_reset": True}, True),
        ("gru", 4, {}, False),
        ("gru", 4, {"clip": 1.0}, True),
        ("gru", 4, {"lengths": [1, 2, 3]}, True),
        ("gru", 4, {"computed_weights": True}, True),
        ("gru", 129, {"linear_before_reset": True}, False),
        ("rnn_sequence", 4, {}, True),
        ("rnn_sequence", 22, {}, False),
        ("rnn_sequence", 22, {"clip": 1.0}, True),
        ("lstm_sequence", 4, {}, True),
        ("lstm_sequence", 256, {}, False),
        ("lstm_sequence", 256, {"computed_weights": True}, True),
    ],
)
def test_the_faster_of_the_engines_sequence_and_a_loop(kind: str, units: int, options: Any, is_own: bool) -> None:
    kinds = find_kinds(make_model(kind, 25, units=units, **options)[0])
    assert (OWN[kind] in kinds, "TensorIterator" in kinds) == (is_own, not is_own)


@pytest.mark.parametrize("steps", [1, 9, 10, 11, 20, 37])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("kind", OWN)
def test_a_loop_of_any_length(kind: str, steps: int, reverse: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recurrent_loop, "STEPS_OF_PASS", 10)
    for name in ("GRU", "LSTM", "RNN"):
        monkeypatch.setattr(recurrent, f"LARGEST_{name}", (0, 0))
    check(*make_model(kind, steps, 2, reverse=reverse))


@pytest.mark.parametrize("activation", [1, 3])
def test_rnn(activation: int) -> None:
    random = np.random.default_rng(0)
    shapes = {"input": (TIME, BATCH, SIZE), "weights": (UNITS, SIZE), "recurrent_weights": (UNITS, UNITS)}
    values = reals(shapes | {"bias": (UNITS,), "hidden_in": (BATCH, UNITS)}, random)
    given = inputs_of(Op.UNIDIRECTIONAL_SEQUENCE_RNN, values | {"activation": activation, "time_major": 1})
    model = single(Op.UNIDIRECTIONAL_SEQUENCE_RNN, given, [FLOAT] * 2, constant=True)
    (verdict,) = lower_model(model).verdicts
    assert verdict.supported == (activation == 1)
    if verdict.supported:
        ours, right = (
            run_single(Op.UNIDIRECTIONAL_SEQUENCE_RNN, given, [FLOAT] * 2, constant=True, devices=[one])
            for one in DEVICES
        )
        for one, other in zip(ours, right, strict=True):
            np.testing.assert_allclose(one, other, 1e-5, 1e-6)
