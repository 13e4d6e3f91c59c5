"""Recurrent cells and sequences, against LiteRT."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nnapi import NnapiError
from nnapi.operation_codes import CompositeCode
from tests.importers.tflite.against_litert import Case, case, check, loaded, run
from tests.importers.tflite.recurrent_cases import (
    BATCH,
    FEATURES,
    RELU,
    STEPS,
    TANH,
    UNITS,
    bidirectional,
    cell,
    integer_lstm,
    lstm_options,
    rng,
    sequence,
    simple,
    state,
    weights,
)
from tests.tflite_writer import f32

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


@pytest.mark.engine
@pytest.mark.parametrize("steps", [1, 4])
def test_an_lstm_in_integers_gives_the_same_codes(steps: int, tmp_path: Path) -> None:
    model = check(integer_lstm(steps), tmp_path)
    assert [call.code for call in model.operations] == [CompositeCode.QUANTIZED_LSTM_SEQUENCE]


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
