"""Recurrent cells and sequences. Their state, a variable in TFLite, is zero at the start of each run."""

from collections.abc import Mapping, Sequence
from functools import partial

from nnapi.codes import OperandCode, OperationCode
from nnapi.importers.graph import FLOAT32, INT32, Value
from nnapi.importers.refusals import expressible
from nnapi.importers.terms import Term, logistic, tanh
from nnapi.importers.tflite.node import TfliteNode
from nnapi.importers.tflite.rules import rule
from nnapi.importers.tflite.rules.convolution import keep_weights, with_type
from nnapi.model.operand import OperandType
from nnapi.operation_codes import CompositeCode

QUANT8_SYMM, QUANT16_SYMM = OperandCode.TENSOR_QUANT8_SYMM, OperandCode.TENSOR_QUANT16_SYMM
TANH = 4
STATES = (18, 19)
BOTH_STATES = (35, 36, 37, 38)
"""States of a bidirectional LSTM: forward, then backward."""
MATRICES = range(1, 9)
BIASES = (12, 13, 14, 15, 17)


@rule("UNIDIRECTIONAL_SEQUENCE_LSTM")
def sequence_lstm(node: TfliteNode) -> None:
    o, x = node.options, node.input(0)
    expressible(not o.diagonal_recurrent_tensors, "NNAPI has no diagonal recurrent weights")
    if x.is_quantized and x.rank == 3 and _is_integer_cell(node):
        operands = (*_integer_operands(node), node.flag(o.time_major))
        out = node.temporary(node.input(18).type.with_dimensions(node.output.shape), "output")
        states = _last_states(node, {i: node.input(i) for i in STATES})
        node.emit(CompositeCode.QUANTIZED_LSTM_SEQUENCE, *operands, to=[out, *states])
        node.deliver(out)
        return
    cell = _cell(node, range(20), MATRICES)
    scalars = _scalars(node, cell[0])
    norms = _cell(node, range(20, 24))
    targets = [node.output, *node.make_states({i: cell[i] for i in STATES})]
    node.emit(OperationCode.UNIDIRECTIONAL_SEQUENCE_LSTM, *cell, *scalars, node.flag(o.time_major), *norms, to=targets)


@rule("LSTM")
def lstm(node: TfliteNode) -> None:
    """Lower LSTM, one time step. Old files have all weights in one matrix: see :func:`basic_lstm`."""
    o = node.options
    if o.kernel_type == 1:
        basic_lstm(node)
        return
    if node.input(0).is_quantized and _is_integer_cell(node):
        node.deliver(_compute_integer_step(node))
        return
    cell = _cell(node, range(20), MATRICES)
    x = cell[0]
    units = cell[2].shape[0]
    gates = 3 if cell[1].omitted else 4
    scratch, state, memory = (
        node.temporary(OperandType(x.type.code, shape), suffix)
        for shape, suffix in (
            ((x.shape[0], gates * units), "scratch"),
            (cell[18].shape, "state"),
            (cell[19].shape, "cell state"),
        )
    )
    norms = _cell(node, range(20, 24)) if node.count > 20 else []
    target = node.output
    out = node.temporary(OperandType(FLOAT32, target.shape), "output") if target.is_quantized else target
    node.emit(OperationCode.LSTM, *cell, *_scalars(node, x), *norms, to=[scratch, state, memory, out])
    node.deliver(out)
    for index, value in zip(STATES, (state, memory), strict=True):
        node.keep_state(index, value)


def basic_lstm(node: TfliteNode) -> None:
    o = node.options
    x, last, weights, bias, state = node.inputs[:5]
    expressible(x.is_float and o.activation == TANH, "it is quantized or squashes by other than TANH")
    both = node.apply(OperationCode.CONCATENATION, x, last, node.i32(1), shape=(x.shape[0], x.shape[1] + last.shape[1]))
    gates = node.apply(
        OperationCode.FULLY_CONNECTED, both, weights, bias, node.i32(0), shape=(x.shape[0], weights.shape[0])
    )
    entry, candidate, forget, output = (Term(node, gate) for gate in node.split(gates, 1, 4))
    gained = logistic(entry) * tanh(candidate)
    memory = gained + logistic(forget) * Term(node, state)
    hidden = logistic(output) * tanh(memory)
    for i, value in enumerate((hidden.value, memory.value, both, gates)[: len(node.outputs)]):
        node.deliver(value, i)


@rule("BIDIRECTIONAL_SEQUENCE_LSTM")
def bidirectional_lstm(node: TfliteNode) -> None:
    o = node.options
    cell = _cell(node, range(48))
    x = cell[0]
    flags = (node.flag(o.merge_outputs), node.flag(o.time_major))
    norms = [node.graph.no_value(x.type.code) for _ in range(8)]
    targets = [*(node.outputs[:1] if o.merge_outputs else node.outputs)]
    targets += node.make_states({i: cell[i] for i in BOTH_STATES})
    node.emit(OperationCode.BIDIRECTIONAL_SEQUENCE_LSTM, *cell, *_scalars(node, x), *flags, *norms, to=targets)


@rule("RNN")
def rnn(node: TfliteNode) -> None:
    """Lower RNN. NNAPI's cell supports RELU activations only; TANH is decomposed."""
    cell, act = _cell(node, range(5)), node.options.activation
    if act == TANH:
        out = _tanh_step(node, cell[0], *cell[1:5])
    else:
        state = node.temporary(OperandType(FLOAT32, cell[4].shape), "state")
        out = node.temporary(OperandType(FLOAT32, cell[4].shape), "output")
        node.emit(OperationCode.RNN, *cell, node.i32(act), to=[state, out])
    node.deliver(out)
    node.keep_state(4, out)


def _tanh_step(node: TfliteNode, x: Value, weights: Value, recurrent: Value, bias: Value, state: Value) -> Value:
    product = partial(node.apply, OperationCode.FULLY_CONNECTED, shape=state.shape)
    seen = product(x, weights, bias, node.i32(0))
    remembered = product(state, recurrent, node.graph.full(bias.type), node.i32(0))
    total = node.apply(OperationCode.ADD, seen, remembered, node.i32(0), shape=state.shape)
    return node.apply(OperationCode.TANH, total, shape=state.shape)


@rule("UNIDIRECTIONAL_SEQUENCE_RNN")
def sequence_rnn(node: TfliteNode) -> None:
    o, cell = node.options, _cell(node, range(5))
    act, state = o.activation, {4: cell[4]}
    if act == TANH:  # NNAPI's cell has RELUs only
        operands = (*cell, node.graph.no_value(INT32), node.i32(act), node.real(0.0, cell[0]), node.flag(False))
        targets = [node.output, *_last_states(node, state)]
        node.emit(CompositeCode.RNN_SEQUENCE, *operands, node.flag(o.time_major), to=targets)
    else:
        targets, major = [node.output, *node.make_states(state)], node.i32(bool(o.time_major))
        node.emit(OperationCode.UNIDIRECTIONAL_SEQUENCE_RNN, *cell, node.i32(act), major, to=targets)


@rule("BIDIRECTIONAL_SEQUENCE_RNN")
def bidirectional_rnn(node: TfliteNode) -> None:
    o = node.options
    expressible(o.activation != TANH, "NNAPI's cell squashes by RELUs only, not by TANH")
    act = node.i32(o.activation)
    targets = node.outputs[:1] if o.merge_outputs else node.outputs
    flags = (node.flag(o.time_major), node.flag(o.merge_outputs))
    node.emit(OperationCode.BIDIRECTIONAL_SEQUENCE_RNN, *_cell(node, range(12)), act, *flags, to=targets)


@rule("SVDF")
def svdf(node: TfliteNode) -> None:
    o = node.options
    x, feature, time, bias, state = _cell(node, (0, 1, 2, 3, 4))
    target = node.output
    out = node.temporary(OperandType(FLOAT32, target.shape), "output") if target.is_quantized else target
    kept = node.temporary(OperandType(x.type.code, state.shape), "state")
    act = node.activation(o.activation, out)
    node.emit(OperationCode.SVDF, x, feature, time, bias, state, node.i32(o.rank), act, to=[kept, out])
    node.deliver(out)
    node.keep_state(4, kept)


def _last_states(node: TfliteNode, states: Mapping[int, Value]) -> list[Value]:
    """Return values for the new states of variables; results that nothing reads if these are not kept."""
    return node.make_states(states) or [node.temporary(value.type, "state") for value in states.values()]


# Operands of cells


def _cell(node: TfliteNode, positions: Sequence[int], kept: Sequence[int] = ()) -> list[Value]:
    """Return the inputs at ``positions`` as floats; quantized weights in ``kept`` may stay quantized in the model."""
    values = []
    is_float = node.input(0).is_float
    for i in positions:
        if not node.has(i):
            values.append(node.graph.no_value())
            continue
        value, tensor = node.input(i), node.tensor(i)
        if value.type.code == INT32 and tensor.scales:
            expressible(len(tensor.scales) == 1, f"{tensor} has a scale per channel")
            value = with_type(value, OperandType(INT32, value.shape, tensor.scales[0]))
        elif is_float and value.is_quantized:
            value = node.weights(i)
        weights = keep_weights(node, value) if i in kept and is_float and value.is_quantized else None
        if weights is not None:
            values.append(weights)
            continue
        if value.is_quantized:
            node.note("quantized recurrent cells are computed in float32")
        values.append(node.graph.real(value))
    return values


def _scalars(node: TfliteNode, x: Value) -> tuple[Value, ...]:
    """Return the activation code, which TFLite and NNAPI share, and the two clipping limits."""
    o = node.options
    return (node.i32(o.activation), node.real(o.cell_clip, x), node.real(o.proj_clip, x))


# An LSTM in integers


def _is_integer_cell(node: TfliteNode) -> bool:
    """Return whether the cell is QUANTIZED_LSTM's: signed 8-bit activations and weights, 16-bit cell state."""
    weights = (*range(1, 9), 16)
    return (
        node.tensor(0).type == "INT8"
        and node.has(19)
        and node.tensor(19).type == "INT16"
        and node.options.activation == TANH
        and all(not node.has(i) or node.tensor(i).type == "INT8" for i in weights)
        and all(not node.has(i) or len(node.tensor(i).scales) == 1 for i in weights)
    )


def _integer_operands(node: TfliteNode) -> tuple[Value, ...]:
    """Return the operands of QUANTIZED_LSTM."""
    o = node.options
    fixed = [_integer_operand(node, i) for i in range(1, 18)]
    hidden, memory = (node.input(i) for i in STATES)
    norms = [_integer_operand(node, i) for i in range(20, 24)]
    clips = [node.graph.scalar(OperandCode.FLOAT32, clip) for clip in (o.cell_clip, o.proj_clip)]
    return (node.input(0), *fixed, hidden, memory, *norms, *clips, *_intermediate_scales(node, hidden))


def _compute_integer_step(node: TfliteNode) -> Value:
    types = {"state": 18, "cell state": 19, "output": 18}
    results = [node.temporary(node.input(i).type, suffix) for suffix, i in types.items()]
    node.emit(OperationCode.QUANTIZED_LSTM, *_integer_operands(node), to=results)
    state, memory, out = results
    for index, value in zip(STATES, (state, memory), strict=True):
        node.keep_state(index, value)
    return out


def _integer_operand(node: TfliteNode, i: int) -> Value:
    codes = {9: QUANT16_SYMM, 10: QUANT16_SYMM, 11: QUANT16_SYMM, **dict.fromkeys(BIASES, INT32)}
    code = codes.get(i, QUANT16_SYMM if i >= 20 else QUANT8_SYMM)
    if not node.has(i):
        return node.graph.no_value(code)
    value, tensor = node.input(i), node.tensor(i)
    scale = tensor.scales[0] if tensor.scales else 0.0
    expressible(not any(tensor.zero_points), f"{tensor} has a zero point")
    return with_type(value, OperandType(code, value.shape, scale))


def _intermediate_scales(node: TfliteNode, hidden: Value) -> list[Value]:
    """Return the scales of the four gates, then zero point and scale of the hidden state before projection."""
    tensors = [node.scope.subgraph.tensors[i] for i in node.operator.intermediates if i >= 0]
    scales = [tensor.scales[0] if tensor.scales else 0.0 for tensor in tensors[:4]]
    scales += [0.0] * (4 - len(scales))
    last = tensors[4] if len(tensors) > 4 and tensors[4].scales else None
    zero_point = last.zero_points[0] if last and last.zero_points else hidden.type.zero_point
    scale = last.scales[0] if last else hidden.type.scale
    floats = (node.graph.scalar(OperandCode.FLOAT32, number) for number in scales)
    return [*floats, node.i32(zero_point), node.graph.scalar(OperandCode.FLOAT32, scale)]
