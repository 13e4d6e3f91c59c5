"""Attention and rotary embeddings of ONNX and of ONNX Runtime's transformer optimizer. Sizes must be static."""

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import NamedTuple

import numpy as np

from nnapi.importers.graph import Value
from nnapi.importers.graph_emitter import REAL
from nnapi.importers.onnx.emitter import value_in_file_order
from nnapi.importers.onnx.node import OnnxNode
from nnapi.importers.onnx.operators import ByFunctionError, Result, rule
from nnapi.importers.onnx.rule_results import compose
from nnapi.importers.onnx.rules.composed import add
from nnapi.importers.onnx.tensors import FLOAT, FLOAT16, INT32, OnnxTensor, constant
from nnapi.importers.refusals import expressible
from nnapi.model.operand import Array
from nnapi.operation_codes import CompositeCode as Composite

LOWEST = {FLOAT16: -6e4}
"""The score of a masked pair, by type; by default -1e9. Its exponential is 0."""

ATTRIBUTES = {"is_causal", "q_num_heads", "kv_num_heads", "scale", "qk_matmul_output_mode"}
"""The attributes of ONNX's Attention that ATTENTION can express; the mode is that of an output."""


class Heads(NamedTuple):
    """Query, key and value as [batches, heads, rows, width]. Key and value begin with the rows of earlier runs."""

    query: OnnxTensor
    key: OnnxTensor
    value: OnnxTensor

    @property
    def past(self) -> int:
        return self.key.dims[2] - self.query.dims[2]


def _reshape(node: OnnxNode, x: OnnxTensor, *shape: int) -> OnnxTensor:
    return compose(node, "Reshape", x, shape)


def _part(node: OnnxNode, x: OnnxTensor, begin: int, end: int, axis: int = -1) -> OnnxTensor:
    whole = (begin, end) == (0, x.dims[axis])
    return x if whole else compose(node, "Slice", x, [begin], [end], [axis % x.rank])


def _swap(node: OnnxNode, x: OnnxTensor) -> OnnxTensor:
    return compose(node, "Transpose", x, perm=[0, 2, 1, 3])


def _divide(node: OnnxNode, x: OnnxTensor, heads: int) -> OnnxTensor:
    """Reshape [batches, rows, heads × width] to [batches, heads, rows, width]."""
    batches, rows, width = x.dims
    return _swap(node, _reshape(node, x, batches, rows, heads, width // heads))


def _refuse(node: OnnxNode, inputs: Sequence[int] = (), attributes: Sequence[str] = ()) -> None:
    for i in inputs:
        expressible(not node.has(i), f"its input {i} is not read")
    for name in attributes:
        expressible(not node.attribute(name, 0), f"its attribute {name} is not read")


def _concatenate(node: OnnxNode, past: OnnxTensor | None, now: OnnxTensor) -> OnnxTensor:
    return compose(node, "Concat", past, now, axis=2) if past is not None and past.dims[2] else now


def _padding(node: OnnxNode, i: int, heads: Heads) -> OnnxTensor | None:
    """Return the mask in input ``i`` as terms to add to the scores. It holds lengths, or 1 and 0 for keys or pairs."""
    if not node.has(i):
        return None
    mask, (batches, _, rows, _), keys = node.tensor(i), heads.query.dims, heads.key.dims[2]
    shapes = {(batches, keys): (batches, 1, 1, keys), (batches, rows, keys): (batches, 1, rows, keys)}
    shapes[batches, 1, rows, keys] = batches, 1, rows, keys
    if mask.dims == (batches,):
        line = np.arange(keys, dtype=np.int32).reshape(1, 1, 1, keys)
        kept = compose(node, "Less", line, compose(node, "Cast", _reshape(node, mask, batches, 1, 1, 1), to=INT32))
    else:
        expressible(mask.dims in shapes, f"its mask is {list(mask.dims)} for {batches} × {rows} rows and {keys} keys")
        kept = _reshape(node, mask, *shapes[mask.dims])
    dropped = compose(node, "Sub", 1.0, compose(node, "Cast", kept, to=heads.query.elem))
    return compose(node, "Mul", dropped, float(node.attribute("mask_filter_value", -10000.0)))


def _causal(node: OnnxNode, heads: Heads, window: int = -1) -> OnnxTensor:
    """Return terms for the scores that mask the keys after each row, and those more than ``window`` rows before."""
    rows, keys = np.ogrid[: heads.query.dims[2], : heads.key.dims[2]]
    ahead = keys - rows - heads.past
    left = (ahead <= 0) & (ahead > -window if window > 0 else True)
    dtype = np.float16 if heads.query.elem == FLOAT16 else np.float32
    return constant(f"{node.name}:causal", np.where(left, 0, LOWEST.get(heads.query.elem, -1e9)).astype(dtype))


def _attend(node: OnnxNode, heads: Heads, masks: Sequence[OnnxTensor | None]) -> OnnxTensor:
    """Return [batches, rows, heads × width]."""
    batches, count, rows, width = heads.query.dims
    scale = float(node.attribute("scale", 0.0)) or width**-0.5
    if cap := float(node.attribute("softcap", 0.0)):
        found = _attend_capped(node, heads, masks, scale, cap)
    else:
        found = _attend_whole(node, heads, masks, scale)
    return _reshape(node, _swap(node, found), batches, rows, count * found.dims[3])


def _attend_capped(
    node: OnnxNode, heads: Heads, masks: Sequence[OnnxTensor | None], scale: float, cap: float
) -> OnnxTensor:
    keys = compose(node, "Transpose", heads.key, perm=[0, 1, 3, 2])
    scores = compose(node, "MatMul", compose(node, "Mul", heads.query, scale), keys)
    inner = compose(node, "Tanh", compose(node, "Div", scores, cap))
    scores = compose(node, "Mul", inner, cap)
    for mask in masks:
        scores = add(node, scores, mask)
    return compose(node, "MatMul", compose(node, "Softmax", scores, axis=3), heads.value)


def _attend_whole(node: OnnxNode, heads: Heads, masks: Sequence[OnnxTensor | None], scale: float) -> OnnxTensor:
    given = [mask for mask in masks if mask is not None]
    query, key, value = (_read(node, each) for each in heads)
    mask = _read(node, reduce(partial(add, node), given)) if given else node.graph.no_value(query.type.code)
    found = node.apply(Composite.ATTENTION, query, key, value, mask, node.graph.scalar(REAL, scale))
    return node.result(found, elem=heads.query.elem)


def _read(node: OnnxNode, tensor: OnnxTensor) -> Value:
    return node.graph.real(value_in_file_order(node.conversion, tensor))


def _masks(node: OnnxNode, i: int, heads: Heads) -> list[OnnxTensor | None]:
    """Return terms to add to the scores: of the mask in input ``i``, of input 5 and, if causal, of the causal mask."""
    masks = [_padding(node, i, heads), node.given(5)]
    return [*masks, _causal(node, heads)] if node.attribute("unidirectional", 0) else masks


@rule("com.microsoft:Attention")
def attention(node: OnnxNode) -> list[Result | None]:
    """Lower Attention, which includes the projections to queries, keys and values."""
    _refuse(node, (6,), ("do_rotary", "past_present_share_buffer"))
    x, heads, past = node.tensor(0), int(node.attribute("num_heads")), node.given(4)
    _, _, depth = node.static_shape(0)
    total = node.shape(1)[1]
    sizes = list(node.attribute("qkv_hidden_sizes") or [total // 3] * 3)
    projected = add(node, compose(node, "MatMul", x, node.tensor(1)), node.given(2))
    ends = np.cumsum([0, *sizes]).tolist()
    expressible(ends[-1] == total, f"its sizes {sizes} do not make the {total} columns of its weights for {depth}")
    query, *state = (_divide(node, _part(node, projected, ends[k], ends[k + 1]), heads) for k in range(3))
    if past is not None:
        earlier = [_reshape(node, _part(node, past, k, k + 1, 0), *past.dims[1:]) for k in range(2)]
        state = [_concatenate(node, old, new) for old, new in zip(earlier, state, strict=True)]
    given = Heads(query, *state)
    present = None
    if node.wants(1):
        present = compose(node, "Concat", *(_reshape(node, each, 1, *each.dims) for each in state), axis=0)
    return [_attend(node, given, _masks(node, 3, given)), present]


@rule("com.microsoft:MultiHeadAttention")
def multi_head_attention(node: OnnxNode) -> list[Result | None]:
    """Lower MultiHeadAttention of projected inputs; queries, keys and values may lie in one tensor."""
    _refuse(node, (8, 9))
    heads, biases = int(node.attribute("num_heads")), node.given(3)
    parts = [node.tensor(0), node.given(1), node.given(2)]
    for first, count in ((0, 3), (1, 2)):
        packed = parts[first]
        if packed is not None and packed.rank == 5:
            batches, rows, _, _, width = packed.dims
            flat = _reshape(node, packed, batches * rows * heads, count, width)
            split = [_part(node, flat, k, k + 1, 1) for k in range(count)]
            parts[first:] = [_reshape(node, each, batches, rows, heads * width) for each in split]
    divided, begin = [], 0
    for part in parts:
        assert part is not None
        if biases is not None and part.rank == 3:
            begin, end = begin + part.dims[2], begin
            part = add(node, part, _part(node, biases, end, begin))
        divided.append(part if part.rank == 4 else _divide(node, part, heads))
    state = [_concatenate(node, node.given(i), each) for i, each in zip((6, 7), divided[1:], strict=True)]
    given = Heads(divided[0], *state)
    return [_attend(node, given, _masks(node, 4, given)), *state]


@rule("com.microsoft:GroupQueryAttention")
def group_query_attention(node: OnnxNode) -> list[Result | None]:
    """Lower GroupQueryAttention: causal attention in which several heads share keys and values."""
    _refuse(node, range(11, 17), ("smooth_softmax",) if node.attribute("smooth_softmax", 0) > 0 else ())
    heads, shared = int(node.attribute("num_heads")), int(node.attribute("kv_num_heads"))
    parts = [node.tensor(0), node.given(1), node.given(2)]
    batches, rows, width = node.static_shape(0)
    if parts[1] is None:
        width //= heads + 2 * shared
        ends = [0, heads * width, (heads + shared) * width, (heads + 2 * shared) * width]
        parts = [_part(node, node.tensor(0), ends[k], ends[k + 1]) for k in range(3)]
    past = node.given(3).dims[2] if node.has(3) else 0  # type: ignore[union-attr]
    expressible(int(node.array(6).reshape(())) == past + rows, "its past keys lie in a longer buffer")
    expressible(batches == 1 or not past, "its batches may have past keys of several lengths")
    query, key, value = (
        _divide(node, part, count) for part, count in zip(parts, (heads, shared, shared), strict=True) if part
    )
    if node.attribute("do_rotary", 0):
        given = np.arange(past, past + rows, dtype=np.int64)
        positions = node.given(9) or np.broadcast_to(given, (batches, rows))
        interleaved = bool(node.attribute("rotary_interleaved", 0))
        angles = _look_up(node, positions, (7, 8), interleaved)
        query, key = (_rotate(node, each, angles, interleaved) for each in (query, key))
    state = [_concatenate(node, node.given(i), each) for i, each in ((3, key), (4, value))]
    spread = [_share(node, each, heads) for each in state]
    window = int(node.attribute("local_window_size", -1))
    causal = _causal(node, Heads(query, *spread), window)
    return [_attend(node, Heads(query, *spread), [causal, node.given(10)]), *state]


def _look_up(
    node: OnnxNode, positions: OnnxTensor | Array, caches: tuple[int, int], interleaved: bool
) -> list[OnnxTensor]:
    """Return the cosines and sines of ``positions`` [batches, rows], for both elements of each pair."""
    twice = [_repeat_angles(node, node.tensor(i), interleaved) for i in caches]
    return [compose(node, "Gather", each, positions, axis=0) for each in twice]


def _repeat_angles(node: OnnxNode, angles: OnnxTensor, interleaved: bool) -> OnnxTensor:
    *outer, pairs = angles.dims
    column = _reshape(node, angles, *outer, pairs, 1) if interleaved else angles
    return _reshape(node, compose(node, "Concat", column, column, axis=len(column.dims) - 1), *outer, 2 * pairs)


def _rotate(
    node: OnnxNode, x: OnnxTensor, angles: Sequence[OnnxTensor], interleaved: bool, size: int = 0
) -> OnnxTensor:
    """Rotate pairs of elements, the first ``size`` of each head, by cosines and sines of [batches, rows]."""
    rows, width = x.dims[2:]
    size = size or angles[0].dims[-1]
    turns = [_read(node, _reshape(node, _part(node, each, 0, size), -1, 1, rows, size)) for each in angles]
    turned = _read(node, _part(node, x, 0, size))
    found = node.result(node.apply(Composite.ROTARY_EMBEDDING, turned, *turns, node.flag(interleaved)), elem=x.elem)
    return found if size == width else compose(node, "Concat", found, _part(node, x, size, width), axis=3)


@rule("com.microsoft:RotaryEmbedding")
def rotary_embedding_at(node: OnnxNode) -> Result:
    _refuse(node, (), ("is_packed_batching",))
    expressible(float(node.attribute("scale", 1.0)) == 1, "it scales its result")
    x = _divide_rotated(node, node.shape(2)[1])
    batches, _, rows, _ = x.dims
    positions = node.tensor(1)
    if positions.dims in ((), (1,)) and (batches, rows) != (1, 1):
        line = np.broadcast_to(np.arange(rows), (batches, rows))
        positions = compose(node, "Add", _reshape(node, positions, 1, 1), line)
    return _rotate_heads(node, x, partial(_look_up, node, positions, (2, 3)))


@rule("RotaryEmbedding")
def rotary_embedding(node: OnnxNode) -> Result:
    """Lower ONNX's RotaryEmbedding; without positions, its caches have a row for each row of the input."""
    if not all(tensor is None or tensor.is_known for tensor in node.tensors):
        raise ByFunctionError
    positions = node.given(3)

    def find_angles(interleaved: bool) -> list[OnnxTensor]:
        if positions is not None:
            return _look_up(node, positions, (1, 2), interleaved)
        return [_repeat_angles(node, node.tensor(i), interleaved) for i in (1, 2)]

    return _rotate_heads(node, _divide_rotated(node, node.shape(1)[-1]), find_angles)


def _divide_rotated(node: OnnxNode, pairs: int) -> OnnxTensor:
    """Return input 0 as [batches, heads, rows, width]."""
    shape, heads = node.static_shape(0), int(node.attribute("num_heads", 0))
    return node.tensor(0) if len(shape) == 4 else _divide(node, node.tensor(0), heads or shape[-1] // (2 * pairs))


def _rotate_heads(node: OnnxNode, x: OnnxTensor, find_angles: Callable[[bool], list[OnnxTensor]]) -> Result:
    size, interleaved = int(node.attribute("rotary_embedding_dim", 0)), bool(node.attribute("interleaved", 0))
    found = _rotate(node, x, find_angles(interleaved), interleaved, size)
    shape = node.shape(0)
    return found if len(shape) == 4 else _reshape(node, _swap(node, found), *shape)


@rule("Attention")
def onnx_attention(node: OnnxNode) -> list[Result | None]:
    """Lower ONNX's Attention whose masks are known and leave each row a key; its function does the others."""
    mask, is_causal = node.given(3), bool(node.attribute("is_causal", 0))
    is_plain = {each.name for each in node.proto.attribute} <= ATTRIBUTES and not node.wants(3)
    is_known = all(tensor is None or tensor.is_known for tensor in node.tensors)
    if not (is_plain and is_known and not node.has(6) and (mask is None or mask.array is not None)):
        raise ByFunctionError
    counts = [int(node.attribute(name, 0) or 0) for name in ("q_num_heads", "kv_num_heads", "kv_num_heads")]
    query, *now = (
        tensor if tensor.rank == 4 else _divide(node, tensor, count)
        for tensor, count in zip(map(node.tensor, range(3)), counts, strict=True)
    )
    state = [_concatenate(node, node.given(i), each) for i, each in zip((4, 5), now, strict=True)]
    bias = _find_bias(node, query, state[0], mask, state[0].dims[2] - now[0].dims[2] if is_causal else None)
    found = _attend(node, Heads(query, *(_share(node, each, query.dims[1]) for each in state)), [bias])
    if node.tensor(0).rank == 4:
        batches, count, rows, _ = query.dims
        found = _swap(node, _reshape(node, found, batches, rows, count, state[1].dims[3]))
    return [found, *state]


def _find_bias(
    node: OnnxNode, query: OnnxTensor, key: OnnxTensor, mask: OnnxTensor | None, past: int | None
) -> OnnxTensor | None:
    """Return a constant mask as terms to add to the scores. With ``past``, it also masks the keys after each row. Raise
    ByFunctionError if it leaves a row no key: then ONNX's result is 0."""
    rows, keys = query.dims[2], key.dims[2]
    bias: Array = np.zeros((1, 1, 1, 1), np.float32)
    if mask is not None:
        bias = np.where(mask.constant, 0, -np.inf) if mask.constant.dtype == np.bool_ else mask.constant
        if bias.shape[-1] != keys:
            raise ByFunctionError
    if past is not None:
        bias = bias + np.where(np.arange(keys) - np.arange(rows)[:, None] <= past, 0, -np.inf)
    if not np.isfinite(bias.max(-1)).all():
        raise ByFunctionError
    dtype = np.float16 if query.elem == FLOAT16 else np.float32
    return constant(f"{node.name}:mask", bias.astype(dtype)) if bias.any() else None


def _share(node: OnnxNode, x: OnnxTensor, heads: int) -> OnnxTensor:
    """Return keys or values for each of ``heads``, of which several share one."""
    shared = x.dims[1]
    return x if shared == heads else compose(node, "Gather", x, np.repeat(np.arange(shared), heads // shared), axis=1)


@rule("com.microsoft:EmbedLayerNormalization")
def embed_layer_normalization(node: OnnxNode) -> list[Result | None]:
    tables = [node.given(i) for i in (2, 3, 4, 5, 6)]
    return _embed(node, tables, node.given(8))


@rule("com.microsoft:QEmbedLayerNormalization")
def q_embed_layer_normalization(node: OnnxNode) -> list[Result | None]:
    """Lower QEmbedLayerNormalization. Its tables' scales are 6 inputs behind them, its zero points 11."""
    tables = [
        compose(node, "DequantizeLinear", table, node.tensor(i + 6), node.given(i + 11)) if table else None
        for i, table in ((i, node.given(i)) for i in (2, 3, 4, 5, 6))
    ]
    return _embed(node, tables, None)[:2]


def _embed(node: OnnxNode, tables: Sequence[OnnxTensor | None], positions: OnnxTensor | None) -> list[Result | None]:
    """Normalize the sum of word, position and segment embeddings; count the mask's ones. ``tables`` are those of the
    embeddings, gamma and beta."""
    batches, rows = node.static_shape(0)
    words, places, segments, gamma, beta = tables
    total = compose(node, "Gather", words, node.tensor(0), axis=0)
    given = np.arange(rows).reshape(1, rows) if positions is None else positions
    total = add(node, total, compose(node, "Gather", places, given, axis=0))
    if node.has(1):
        total = add(node, total, compose(node, "Gather", segments, node.tensor(1), axis=0))
    epsilon = float(node.attribute("epsilon", 1e-12))
    found = compose(node, "LayerNormalization", total, gamma, beta, axis=2, epsilon=epsilon)
    count: OnnxTensor | None = constant(f"{node.name}:mask", np.zeros(batches, np.int32))
    if node.has(7):
        ones = compose(node, "Cast", node.tensor(7), to=FLOAT)
        count = compose(node, "Cast", compose(node, "ReduceSum", ones, axes=[1], keepdims=0), to=INT32)
    return [found, count if node.wants(1) else None, total]
