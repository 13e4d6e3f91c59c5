"""Rewrites of PyTorch's graphs: operators that its exporter lacks, and Python's floats that are inputs."""

from typing import Any

import torch
from torch.nn import functional

HIDDEN = -float("inf")


def rewrite(graph: Any) -> frozenset[int]:
    """Rewrite a graph in place. Return the positions of inputs that are now floats, and were tensors of one float.

    Under ``dynamic=True``, PyTorch passes Python's floats, such as the epsilon of a normalization, as tensors. The
    fused operators of attention, which it uses for inference, become the operators that they replace.
    """
    if not isinstance(graph, torch.fx.GraphModule):
        return frozenset()
    places = [node for node in graph.graph.nodes if node.op == "placeholder"]
    floats = frozenset(index for index, node in enumerate(places) if _pass_float(node))
    for node in graph.graph.nodes:
        if node.op == "call_function" and node.target in REPLACEMENTS:
            node.target = REPLACEMENTS[node.target]
    graph.recompile()
    return floats


def _pass_float(place: Any) -> bool:
    """Let an input be a float if the graph only takes its item; return whether it does."""
    example, users = place.meta.get("example_value"), list(place.users)
    is_float = isinstance(example, torch.Tensor) and example.ndim == 0 and example.dtype.is_floating_point
    if not is_float or not users or any((user.op, user.target) != ("call_method", "item") for user in users):
        return False
    for user in users:
        user.replace_all_uses_with(place)
        user.graph.erase_node(user)
    return True


def attend(
    query: Any,
    key: Any,
    value: Any,
    width: int,
    heads: int,
    weights: Any,
    bias: Any,
    out_weights: Any,
    out_bias: Any,
    mask: Any = None,
    *how: Any,
) -> tuple[Any, Any]:
    """Compute ``torch._native_multi_head_attention``, which attends to its own input. ``how`` says whether to return
    the shares, whether as means of the heads, and the type of the mask."""
    defaults: tuple[Any, ...] = True, True, None
    need_weights, is_mean, mask_type = *how, *defaults[len(how) :]
    batch, length, depth = query.shape[0], query.shape[1], width // heads
    parts = functional.linear(query, weights, bias).chunk(3, -1)
    q, k, v = (part.reshape(batch, length, heads, depth).transpose(1, 2) for part in parts)
    scores = q @ k.transpose(2, 3) * depth**-0.5
    if mask is not None:
        shape = {0: (1, 1, length, length), 1: (batch, 1, 1, length)}.get(-1 if mask_type is None else mask_type)
        hidden = mask.to(torch.bool) if shape is None else mask.to(torch.bool).reshape(shape)
        scores = scores.masked_fill(hidden, HIDDEN)
    shares = scores.softmax(-1)
    found = functional.linear((shares @ v).transpose(1, 2).reshape(batch, length, width), out_weights, out_bias)
    if not need_weights:
        return found, None
    return found, shares.mean(1) if is_mean else shares


def encode(
    x: Any,
    width: int,
    heads: int,
    weights: Any,
    bias: Any,
    out_weights: Any,
    out_bias: Any,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    *further: Any,
) -> Any:
    """Compute ``torch._transformer_encoder_layer_fwd``."""
    scale1, shift1, scale2, shift2, weights1, bias1, weights2, bias2, *masks = further
    mask, mask_type = (*masks, None, None)[:2]

    def mix(x: Any) -> Any:
        given = x, x, x, width, heads, weights, bias, out_weights, out_bias
        return attend(*given, mask, False, True, mask_type)[0]

    def feed(x: Any) -> Any:
        inner = functional.linear(x, weights1, bias1)
        return functional.linear(functional.gelu(inner) if use_gelu else functional.relu(inner), weights2, bias2)

    def norm1(x: Any) -> Any:
        return functional.layer_norm(x, (width,), scale1, shift1, eps)

    def norm2(x: Any) -> Any:
        return functional.layer_norm(x, (width,), scale2, shift2, eps)

    if norm_first:
        x = x + mix(norm1(x))
        return x + feed(norm2(x))
    x = norm1(x + mix(x))
    return norm2(x + feed(x))


REPLACEMENTS = {torch._transformer_encoder_layer_fwd: encode, torch._native_multi_head_attention: attend}
