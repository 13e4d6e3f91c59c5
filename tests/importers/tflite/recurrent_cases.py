"""Recurrent cells and sequences in .tflite files: weights, states, and cells in integers."""

import numpy as np

from tests.importers.tflite.against_litert import Case, case
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


def bidirectional(merge: bool, time_major: bool = False) -> Case:
    batch = 1 if merge else BATCH  # merging several, LiteRT overwrites the results of one with those of another
    states = [state(batch, UNITS) for _ in range(4)]
    shape = (STEPS, batch) if time_major else (batch, STEPS)
    inputs = [f32(*shape, FEATURES), *cell(), *cell(), *states, *[None] * 9]
    outputs = [f32(*shape, 2 * UNITS)] if merge else [f32(*shape, UNITS), f32(*shape, UNITS)]
    fields = lstm_options(MergeOutputs=merge, TimeMajor=time_major)
    label = f"{'merged' if merge else 'apart'}{', time major' if time_major else ''}"
    return case(
        "BIDIRECTIONAL_SEQUENCE_LSTM", inputs, outputs, "BidirectionalSequenceLSTMOptions", label=label, **fields
    )


def simple() -> list[T]:
    return [weights(UNITS, FEATURES), weights(UNITS, UNITS), weights(UNITS)]


def integer_lstm(
    steps: int,
    time_major: bool = False,
    peephole: bool = False,
    norms: bool = False,
    projection: int = 0,
    is_one: bool = False,
) -> Case:
    """The cell that the converter writes for int8: 16-bit state, symmetric weights. ``is_one``: one step, LSTM."""

    def codes(*shape: int) -> T:
        return s8(*shape, scale=0.01, zero_point=0).of(rng.integers(-127, 128, shape))

    def wide(*shape: int) -> T:
        return T("INT16", shape, 2**-12, 0).of(rng.integers(-900, 900, shape))

    size = projection or UNITS
    bias_scale = 2**-22 if norms else 0.01 * 0.02
    bias = [T("INT32", (UNITS,), bias_scale, data=rng.integers(-900, 900, UNITS)) for _ in range(4)]
    projected = [codes(projection, UNITS), T("INT32", (projection,), 2**-14, data=np.arange(projection))]
    states = [state(BATCH, size, type="INT8", scale=1 / 128), state(BATCH, UNITS, type="INT16", scale=2**-11)]
    shape = (BATCH, FEATURES) if is_one else (steps, BATCH, FEATURES) if time_major else (BATCH, steps, FEATURES)
    inputs = [
        s8(*shape, scale=0.02, zero_point=4),
        *(codes(UNITS, FEATURES) for _ in range(4)),
        *(codes(UNITS, size) for _ in range(4)),
        *(wide(UNITS) if peephole else None for _ in range(3)),
        *bias,
        *(projected if projection else (None, None)),
        *states,
        *(wide(UNITS) if norms else None for _ in range(4)),
    ]
    scales = [T("INT16", (), 2**-12) for _ in range(4)] + [T("INT8", (), 1 / 100, 3)]
    out = s8(*shape[:-1], size, scale=1 / 128, zero_point=0)
    kind = "LSTM" if is_one else "UNIDIRECTIONAL_SEQUENCE_LSTM"
    fields = lstm_options(intermediates=scales, **({} if is_one else {"TimeMajor": time_major}))
    return case(kind, inputs, out, "LSTMOptions" if is_one else "UnidirectionalSequenceLSTMOptions", codes=0, **fields)
