"""Recurrent cells over a sequence, with the meaning of ONNX's operators, in one direction.

GRU: gated recurrent units over a sequence.
RNN_SEQUENCE: a simple recurrent network over a sequence, with any activation and with sequence lengths.
LSTM_SEQUENCE: an LSTM over a sequence, with any activations, and with clipped sums and sequence lengths.

A cell reads each row of the batch up to its length in ``sequence_lengths``; from there on, the row's outputs are 0, and
its states do not change. Lengths are clamped to 0 and the number of steps. A row of length 0 gives 0, as outputs and as
last states, as in ONNX Runtime. With ``reverse``, time runs from the end of each row to its start. Sums of products are
clamped to the range from -clip to clip before their activation, unless ``clip`` is 0.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from nnapi.codes import OperandCode
from nnapi.model.facts import ROUNDING, Facts, Kind, Trait
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import Scalar, Slot, Tensor, not_negative, one_of
from nnapi.model.proposal import Draw, Proposal
from nnapi.operation_codes import CompositeCode
from nnapi.ops.cell_proposals import propose_input
from nnapi.ops.lstm_cell import ACTIVATIONS
from nnapi.ops.recurrent_sequence import dimensions
from nnapi.ops.sequence_cells import plan_gru, plan_lstm, run_cell, squash_clipped
from nnapi.ops.shapes import need_shape
from nnapi.ops.signature_types import FLOAT_SCALAR, INT32, floats

FACTS = Facts(Kind.RECURRENT, Trait.FEEDS_BACK)
INPUT = Tensor("input", floats(3), rank=3)
LENGTHS = Tensor("sequence_lengths", {INT32: 3}, rank=1, optional=True)
DIRECTION = (Scalar("reverse", OperandCode.BOOL, since=3), Scalar("time_major", OperandCode.BOOL, since=3))
CLIP = Scalar("clip", like="input", via=FLOAT_SCALAR, since=3, check=not_negative)


def _weights(*names: str, rank: int = 2, optional: bool = False) -> tuple[Slot, ...]:
    return tuple(Tensor(name, like="input", rank=rank, optional=optional, since=3) for name in names)


def _activations(*names: str) -> tuple[Slot, ...]:
    return tuple(Scalar(name, OperandCode.INT32, since=3, check=one_of(*ACTIVATIONS)) for name in names)


def _results(*names: str) -> tuple[Slot, ...]:
    return tuple(Tensor(name, like="input") for name in names)


GRU = Operation(
    CompositeCode.GRU,
    facts=FACTS,
    inputs=(
        INPUT,
        *_weights("weights", "recurrent_weights"),
        *_weights("bias", "recurrent_bias", rank=1),
        *_weights("hidden_in"),
        LENGTHS,
        *_activations("gate_activation", "activation"),
        CLIP,
        Scalar("linear_before_reset", OperandCode.BOOL, since=3),
        *DIRECTION,
    ),
    outputs=_results("output", "hidden_out"),
)
"""Gates are update, reset and candidate; their weights are stacked in this order."""

RNN_SEQUENCE = Operation(
    CompositeCode.RNN_SEQUENCE,
    facts=FACTS,
    inputs=(
        INPUT,
        *_weights("weights", "recurrent_weights"),
        *_weights("bias", rank=1),
        *_weights("hidden_in"),
        LENGTHS,
        *_activations("activation"),
        CLIP,
        *DIRECTION,
    ),
    outputs=_results("output", "hidden_out"),
)

LSTM_SEQUENCE = Operation(
    CompositeCode.LSTM_SEQUENCE,
    facts=FACTS,
    inputs=(
        INPUT,
        *_weights("weights", "recurrent_weights"),
        *_weights("bias", rank=1),
        *_weights("peepholes", rank=1, optional=True),
        *_weights("hidden_in", "cell_state_in"),
        LENGTHS,
        *_activations("gate_activation", "cell_activation", "hidden_activation"),
        CLIP,
        Scalar("input_forget", OperandCode.BOOL, since=3),
        *DIRECTION,
    ),
    outputs=_results("output", "hidden_out", "cell_state_out"),
)
"""Gates are input, output, forget and cell; peepholes are those of input, output and forget. With ``input_forget``, the
forget gate is 1 minus the input gate."""

GATES = {CompositeCode.GRU: 3, CompositeCode.RNN_SEQUENCE: 1, CompositeCode.LSTM_SEQUENCE: 4}


def _find_shapes(gates: int, input: OperandType, time_major: bool, operands: Mapping[str, Any]) -> list[Shape]:
    """Return the shapes of the outputs and of the last output; raise OpFailedError if operands do not fit together."""
    _, batch, size = dimensions(input, time_major)
    units = operands["recurrent_weights"].shape[1]
    wanted: dict[str, Shape] = {
        "weights": (gates * units, size),
        "recurrent_weights": (gates * units, units),
        "bias": (gates * units,),
        "recurrent_bias": (gates * units,),
        "peepholes": (3 * units,),
        "hidden_in": (batch, units),
        "cell_state_in": (batch, units),
        "sequence_lengths": (batch,),
    }
    for name, shape in wanted.items():
        need_shape(name, operands.get(name), shape)
    return [(*input.shape[:2], units), (batch, units)]


@GRU.shape
def infer_gru_shapes(input: OperandType, time_major: bool, **operands: Any) -> list[Shape]:
    return _find_shapes(3, input, time_major, operands)


@RNN_SEQUENCE.shape
def infer_rnn_shapes(input: OperandType, time_major: bool, **operands: Any) -> list[Shape]:
    return _find_shapes(1, input, time_major, operands)


@LSTM_SEQUENCE.shape
def infer_lstm_shapes(input: OperandType, time_major: bool, **operands: Any) -> list[Shape]:
    output, state = _find_shapes(4, input, time_major, operands)
    return [output, state, state]


@GRU.kernel
def gru(
    input: Array,
    weights: Array,
    bias: Array,
    hidden_in: Array,
    sequence_lengths: Array | None,
    reverse: bool,
    time_major: bool,
    **cell: Any,
) -> list[Array]:
    find_gates = plan_gru(**cell)

    def step(x: Array, _: None, h: Array) -> tuple[Array]:
        update, new = find_gates(x, h)
        return ((1 - update) * new + update * h,)

    return run_cell(step, input, weights, bias, (hidden_in,), sequence_lengths, reverse, time_major)


@RNN_SEQUENCE.kernel
def rnn(
    input: Array,
    weights: Array,
    recurrent_weights: Array,
    bias: Array,
    hidden_in: Array,
    activation: int,
    clip: float,
    **sequence: Any,
) -> list[Array]:
    squash = squash_clipped(activation, clip)

    def step(x: Array, _: None, h: Array) -> tuple[Array]:
        return (squash(x + h @ recurrent_weights.T),)

    return run_cell(step, input, weights, bias, (hidden_in,), **sequence)


@LSTM_SEQUENCE.kernel
def lstm(
    input: Array,
    weights: Array,
    bias: Array,
    hidden_in: Array,
    cell_state_in: Array,
    sequence_lengths: Array | None,
    reverse: bool,
    time_major: bool,
    **cell: Any,
) -> list[Array]:
    find_gates = plan_lstm(**cell)

    def step(x: Array, _: None, h: Array, c: Array) -> tuple[Array, Array]:
        entry, kept, candidate, show = find_gates(x, h, c)
        c = kept * c + entry * candidate
        return show(c), c

    return run_cell(step, input, weights, bias, (hidden_in, cell_state_in), sequence_lengths, reverse, time_major)


def _lose_by_gates(
    inputs: Sequence[Any], outputs: Sequence[Any], precision: str, *, operation: Operation
) -> list[Array]:
    from nnapi.ops import sequences_loss  # only random tests need it

    given = dict(zip((slot.name for slot in operation.overloads[0].inputs), inputs, strict=True))
    return sequences_loss.by_gates(given, outputs, ROUNDING[precision])


for _operation in (GRU, LSTM_SEQUENCE):
    _operation.loss(partial(_lose_by_gates, operation=_operation))


@GRU.proposal
@RNN_SEQUENCE.proposal
@LSTM_SEQUENCE.proposal
def propose_sequence(draw: Draw) -> Proposal:
    """Propose a composite cell; lengths may be below 0 and above the number of steps."""
    input, batch = propose_input(draw)
    gates, units = 4 if "peepholes" in draw.names else 3 if "recurrent_bias" in draw.names else 1, draw.dimension(33)
    shapes: dict[str, Shape] = {"weights": (gates * units, input[-1]), "recurrent_weights": (gates * units, units)}
    shapes |= dict.fromkeys(("bias", "recurrent_bias"), (gates * units,))
    shapes |= dict.fromkeys(("hidden_in", "cell_state_in"), (batch, units))
    shapes |= {"peepholes": (3 * units,), "sequence_lengths": (batch,)}
    draw.proposal.shapes |= shapes
    return draw.proposal
