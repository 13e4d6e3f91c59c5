"""Recurrent cells and sequences, against LiteRT."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nnapi import NnapiError
from nnapi.codes import OperationCode
from tests.importers.tflite.against_litert import Case, case, check, loaded, run
from tests.tflite_writer import T, f32, s8

rng = np.random.default_rng(5)
BATCH, STEPS, FEATURES, UNITS = 2, 3, 4, 5
RELU, TANH = 1, 4


def weights(*shape: int) -> T:
    return f32(*shape).of(rng.uniform(-0.5, 0.5, shape))


def state(*shape: int, type: str = "FLOAT32", scale: float | None = None, zero_point: int = 0) -> T:
    return T(type, shape, scale, zero_point, variable=True)


def cell(cifg: bool = False, peephole: bool = False, projection: int = 0) -> list[T | None]:
    """Inputs 1 to 17 of an LSTM."""
    size = projection or UNITS
    entry = [None if cifg else weights(UNITS, FEATURES), *(weights(UNITS, FEATURES) for _ in range(3))]
    recurrent = [None if cifg else weights(UNITS, size), *(weights(UNITS, size) for _ in range(3))]
    peep = [None if cifg or not peephole else weights(UNITS), *(weights(UNITS) if peephole else None for _ in range(2))]
    bias = [None if cifg else weights(UNITS), *(weights(UNITS) for _ in range(3))]
    return [*entry, *recurrent, *peep, *bias, weights(projection, UNITS) if projection else None, None]


def lstm_options(**fields: object) -> dict[str, object]:
    return {"FusedActivationFunction": TANH, "CellClip": 0.0, "ProjClip": 0.0, **fields}


def sequence(x: T, out: T, label: str = "", time_major: bool = False, norms: bool = False, **parts: object) -> Case:
    size = int(parts.get("projection", 0)) or UNITS  # type: ignore[call-overload]
    states = [state(BATCH, size), state(BATCH, UNITS)]
    norm = [None if parts.get("cifg") else weights(UNITS), *(weights(UNITS) for _ in range(3))] if norms else []
    inputs = [x, *cell(**parts), *states, *(norm or [None] * 4)]  # type: ignore[arg-type]
    fields = lstm_options(TimeMajor=time_major)
    return case("UNIDIRECTIONAL_SEQUENCE_LSTM", inputs, out, "UnidirectionalSequenceLSTMOptions", label=label, **fields)


def bidirectional(merge: bool) -> Case:
    batch = 1 if merge else BATCH  # merging several, LiteRT overwrites the results of one with those of another
    states = [state(batch, UNITS) for _ in range(4)]
    inputs = [f32(batch, STEPS, FEATURES), *cell(), *cell(), *states, *[None] * 9]
    outputs = [f32(batch, STEPS, 2 * UNITS)] if merge else [f32(batch, STEPS, UNITS), f32(batch, STEPS, UNITS)]
    fields = lstm_options(MergeOutputs=merge, TimeMajor=False)
    label = "merged" if merge else "apart"
    return case(
        "BIDIRECTIONAL_SEQUENCE_LSTM", inputs, outputs, "BidirectionalSequenceLSTMOptions", label=label, **fields
    )


def simple() -> list[T]:
    return [weights(UNITS, FEATURES), weights(UNITS, UNITS), weights(UNITS)]


CASES = [
    sequence(f32(BATCH, STEPS, FEATURES), f32(BATCH, STEPS, UNITS)),
    sequence(f32(STEPS, BATCH, FEATURES), f32(STEPS, BATCH, UNITS), "time major", time_major=True),
    sequence(f32(BATCH, STEPS, FEATURES), f32(BATCH, STEPS, UNITS), "coupled", cifg=True),
    sequence(f32(BATCH, STEPS, FEATURES), f32(BATCH, STEPS, UNITS), "peephole", peephole=True),
    sequence(f32(BATCH, STEPS, FEATURES), f32(BATCH, STEPS, 3), "projected", projection=3),
    sequence(f32(BATCH, STEPS, FEATURES), f32(BATCH, STEPS, UNITS), "normalized", norms=True),
    case(
        "LSTM",
        [f32(BATCH, FEATURES), *cell(), state(BATCH, UNITS), state(BATCH, UNITS)],
        f32(BATCH, UNITS),
        "LSTMOptions",
        **lstm_options(),
    ),
    bidirectional(merge=False),
    bidirectional(merge=True),
    *(
        case(
            "RNN",
            [f32(BATCH, FEATURES), *simple(), state(BATCH, UNITS)],
            f32(BATCH, UNITS),
            "RNNOptions",
            FusedActivationFunction=act,
            label=str(act),
        )
        for act in (RELU, TANH)
    ),
    *(
        case(
            "UNIDIRECTIONAL_SEQUENCE_RNN",
            [f32(*shape), *simple(), state(BATCH, UNITS)],
            f32(*shape[:2], UNITS),
            "SequenceRNNOptions",
            FusedActivationFunction=act,
            TimeMajor=major,
            label=f"{act}{major}",
        )
        for act in (RELU, TANH)
        for major, shape in ((False, (BATCH, STEPS, FEATURES)), (True, (STEPS, BATCH, FEATURES)))
    ),
    case(
        "BIDIRECTIONAL_SEQUENCE_RNN",
        [f32(BATCH, STEPS, FEATURES), *simple(), state(BATCH, UNITS), *simple(), state(BATCH, UNITS), *[None] * 3],
        [f32(BATCH, STEPS, UNITS), f32(BATCH, STEPS, UNITS)],
        "BidirectionalSequenceRNNOptions",
        FusedActivationFunction=RELU,
        MergeOutputs=False,
        TimeMajor=False,
    ),
    case(
        "SVDF",
        [
            f32(BATCH, FEATURES),
            weights(2 * UNITS, FEATURES),
            weights(2 * UNITS, 3),
            weights(UNITS),
            state(BATCH, 3 * 2 * UNITS),
        ],
        f32(BATCH, UNITS),
        "SVDFOptions",
        Rank=2,
        FusedActivationFunction=RELU,
    ),
]


@pytest.mark.engine
@pytest.mark.parametrize("case", CASES, ids=str)
def test_agrees_with_litert(case: Case, tmp_path: Path) -> None:
    model = check(case, tmp_path)
    assert any("starts anew" in note for note in model.notes)


def integer_lstm(steps: int) -> Case:
    """The cell that the converter writes for int8: 16-bit state, symmetric weights."""

    def codes(*shape: int) -> T:
        return s8(*shape, scale=0.01, zero_point=0).of(rng.integers(-127, 128, shape))

    bias = [T("INT32", (UNITS,), 0.01 * 0.02, data=rng.integers(-900, 900, UNITS)) for _ in range(4)]
    states = [state(BATCH, UNITS, type="INT8", scale=1 / 128), state(BATCH, UNITS, type="INT16", scale=2**-11)]
    entry, recurrent = [codes(UNITS, FEATURES) for _ in range(4)], [codes(UNITS, UNITS) for _ in range(4)]
    inputs = [
        s8(BATCH, steps, FEATURES, scale=0.02, zero_point=4),
        *entry,
        *recurrent,
        *[None] * 3,
        *bias,
        None,
        None,
        *states,
        *[None] * 4,
    ]
    scales = [T("INT16", (), 2**-12) for _ in range(4)] + [T("INT8", (), 1 / 128)]
    out = s8(BATCH, steps, UNITS, scale=1 / 128, zero_point=0)
    fields = lstm_options(TimeMajor=False, intermediates=scales)
    return case("UNIDIRECTIONAL_SEQUENCE_LSTM", inputs, out, "UnidirectionalSequenceLSTMOptions", codes=0, **fields)


@pytest.mark.engine
@pytest.mark.parametrize("steps", [1, 4])
def test_an_lstm_in_integers_gives_the_same_codes(steps: int, tmp_path: Path) -> None:
    model = check(integer_lstm(steps), tmp_path)
    codes = [call.code for call in model.operations]
    assert codes.count(OperationCode.QUANTIZED_LSTM) == steps


@pytest.mark.parametrize("batch", [BATCH, -1])
def test_a_basic_cell_is_written_out(batch: int, tmp_path: Path) -> None:
    """The layout of old files, with one matrix for all gates; its state is an operand of its own."""
    both = FEATURES + UNITS
    x, last, memory, *outputs = (
        replace(f32(BATCH, depth), signature=(batch, depth))
        for depth in (FEATURES, UNITS, UNITS, UNITS, UNITS, both, 4 * UNITS)
    )
    matrix, bias = weights(4 * UNITS, both), weights(4 * UNITS)
    fields = lstm_options(KernelType=1)
    found = case("LSTM", [x, last, matrix, bias, memory], outputs, "LSTMOptions", **fields)
    model = loaded(found.content(), tmp_path)
    given = [rng.uniform(-1, 1, tensor.shape).astype(np.float32) for tensor in (x, last, memory)]
    hidden, state_out, *_ = run(model, given)
    z = np.concatenate(given[:2], 1) @ matrix.array.T + bias.array
    i, g, f, o = np.split(z.astype(np.float64), 4, 1)

    def sigmoid(v: np.ndarray) -> np.ndarray:
        return 1 / (1 + np.exp(-v))

    c = sigmoid(i) * np.tanh(g) + sigmoid(f) * given[2]
    np.testing.assert_allclose(state_out, c, atol=1e-6)
    np.testing.assert_allclose(hidden, sigmoid(o) * np.tanh(c), atol=1e-6)


def test_reasons(tmp_path: Path) -> None:
    found = sequence(f32(BATCH, STEPS, FEATURES), f32(BATCH, STEPS, UNITS))
    found.fields["DiagonalRecurrentTensors"] = True
    with pytest.raises(NnapiError, match="UNIDIRECTIONAL_SEQUENCE_LSTM ×1 .*diagonal recurrent weights"):
        loaded(found.content(), tmp_path)
