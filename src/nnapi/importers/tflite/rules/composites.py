"""Composites that a file names itself.

LiteRT runs a composite's decomposition. A name is taken only if its attributes and operands say what the decomposition
computes; all others are decomposed.
"""

from collections.abc import Callable, Mapping

from nnapi.errors import BadDataError
from nnapi.formats.tflite.flexbuffer import Value as Attribute
from nnapi.formats.tflite.flexbuffer import read_map
from nnapi.formats.tflite.reader import list_subgraphs
from nnapi.importers.graph import Value
from nnapi.importers.graph_emitter import REAL
from nnapi.importers.refusals import Refused
from nnapi.importers.tflite.node import HIGHEST_RANK, TfliteNode
from nnapi.importers.tflite.rules import rule
from nnapi.importers.tflite.rules.control_flow import inline
from nnapi.operation_codes import CompositeCode

Attributes = Mapping[str, Attribute]
HEADS = [0, 2, 1, 3]
"""The order of axes that swaps rows and heads."""


@rule("STABLEHLO_COMPOSITE")
def composite(node: TfliteNode) -> None:
    name, content = node.operator.composite()
    take = NAMED.get(name)
    found = None
    if take is not None and all(value.is_float and 0 not in value.shape for value in node.inputs):
        try:
            found = take(node, read_map(content))
        except (BadDataError, ValueError, Refused):  # LiteRT does not read the attributes
            found = None
    if found is None:
        inline(node)
    else:
        node.deliver(found)


def _rms_norm(node: TfliteNode, attributes: Attributes) -> Value | None:
    if set(attributes) != {"epsilon"} or node.count != 2 or _has_own_factors(node):
        return None
    x, gamma = node.inputs
    if x.rank > HIGHEST_RANK or gamma.shape != x.shape[-1:]:
        return None
    last = node.i32(x.rank - 1), _real(node, attributes["epsilon"])
    return node.apply(CompositeCode.RMS_NORM, x, gamma, *last, shape=x.shape)


def _group_norm(node: TfliteNode, attributes: Attributes) -> Value | None:
    """Take normalizations whose channels are the last axis, with a scale and a bias for each channel."""
    if set(attributes) != {"num_groups", "epsilon", "channel_axis"} or node.count != 3 or _has_own_factors(node):
        return None
    x, *factors = node.inputs
    is_last = attributes["channel_axis"] in (-1, x.rank - 1)
    if x.rank > HIGHEST_RANK or not is_last or any(factor.shape != x.shape[-1:] for factor in factors):
        return None
    scalars = node.i32(int(str(attributes["num_groups"]))), _real(node, attributes["epsilon"])
    return node.apply(CompositeCode.GROUP_NORM, x, *factors, *scalars, shape=x.shape)


def _attention(node: TfliteNode, attributes: Attributes) -> Value | None:
    """Take attention over [batches, rows, heads, width] with a mask; without one, it may be causal."""
    if set(attributes) != {"scale"} or node.count != 4:
        return None
    query, key, value, mask = node.inputs
    heads = {each.shape[2:3] for each in (query, key, value)}
    if any(each.rank != 4 for each in (query, key, value)) or len(heads) != 1 or mask.rank > HIGHEST_RANK:
        return None
    moved = [node.transpose(each, HEADS) for each in (query, key, value)]
    shape = (*moved[0].shape[:3], moved[2].shape[3])
    found = node.apply(CompositeCode.ATTENTION, *moved, mask, _real(node, attributes["scale"]), shape=shape)
    return node.transpose(found, HEADS)


def _real(node: TfliteNode, number: Attribute) -> Value:
    return node.graph.scalar(REAL, float(str(number)))


def _has_own_factors(node: TfliteNode) -> bool:
    """Return whether the decomposition multiplies by numbers that are not operands, such as a second scale."""
    (index,) = list_subgraphs(node.operator)
    return any(array.size > 1 and bool((array != 1).any()) for array in node.scope.list_floats(index))


NAMED: dict[str, Callable[[TfliteNode, Attributes], Value | None]] = {
    "odml.group_norm": _group_norm,
    "odml.rms_norm": _rms_norm,
    "odml.scaled_dot_product_attention": _attention,
}
"""The composites taken by name. The decomposition of odml.rope is a pattern that is recognized."""
