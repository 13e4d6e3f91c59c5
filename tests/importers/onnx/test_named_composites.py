"""Normalizations, attention and rotary embeddings that an ONNX file names become composites."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi.codes import OperationCode as O
from nnapi.operation_codes import CompositeCode as C

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

RANDOM = np.random.default_rng(8)
MOVING = {O.RESHAPE, O.TRANSPOSE, O.GATHER, O.CONCATENATION, O.SLICE}


def normal(*shape: int, dtype: Any = np.float32) -> Any:
    return RANDOM.normal(size=shape).astype(dtype)


def check(kind: str, inputs: Sequence[Any], computed: int = 1, opset: int = 23, **attributes: Any) -> set[int]:
    """Compare one node, whose first inputs are computed, with ONNX's reference; return the model's operations.

    The models of nnapi have no inputs of five dimensions, so a first input of five is reshaped from two.
    """
    names = ["" if each is None else f"i{k}" for k, each in enumerate(inputs)]
    arrays = [np.asarray(each) for each in inputs if each is not None]
    nodes, shape = [helper.make_node(kind, names, ["y"], **attributes)], arrays[0].shape
    if len(shape) > 4:
        nodes[0].input[0] = "x"
        nodes[0].output[0] = "z"
        before, after = (["i0", "whole"], ["x"]), (["z", "flat"], ["y"])
        nodes = [helper.make_node("Reshape", *before), *nodes, helper.make_node("Reshape", *after)]
        arrays[0] = arrays[0].reshape(shape[0], -1)
    given = [name for name in names if name]
    infos = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in list(zip(given, arrays, strict=True))[:computed]
    ]
    held = [numpy_helper.from_array(array, name) for name, array in list(zip(given, arrays, strict=True))[computed:]]
    shapes = {"whole": shape, "flat": (shape[0], -1)} if len(shape) > 4 else {}
    held += [numpy_helper.from_array(np.array(value), name) for name, value in shapes.items()]
    graph = helper.make_graph(nodes, "g", infos, [onnx.ValueInfoProto(name="y")], held)
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    model = nnapi.load(proto.SerializeToString())
    found = nnapi.compile(model, "nnapi-reference").run(*arrays[:computed])[0]
    results: Any = ReferenceEvaluator(proto).run(None, dict(zip(given, arrays[:computed], strict=False)))
    expected = results[0]
    bound = 2e-6 if found.dtype == np.float32 else 2e-3
    np.testing.assert_allclose(found, expected, bound, bound)
    return {call.code for call in model.operations} - MOVING


@pytest.mark.parametrize("kind", ["LayerNormalization", "RMSNormalization"])
@pytest.mark.parametrize(("shape", "axis"), [((2, 3, 8), -1), ((2, 3, 4, 8), 1), ((2, 3, 2, 4, 8), 3)])
def test_normalizations_of_the_last_axes(kind: str, shape: tuple[int, ...], axis: int) -> None:
    code = C.LAYER_NORM if kind == "LayerNormalization" else C.RMS_NORM
    factors = [normal(*shape[axis:])] * (2 if code == C.LAYER_NORM else 1)
    assert check(kind, [normal(*shape), *factors], axis=axis, epsilon=1e-3) == {code}
    assert check(kind, [normal(*shape), *factors], computed=2 if len(shape) < 5 else 1, axis=axis) == {code}


@pytest.mark.parametrize("shape", [(2, 8), (2, 8, 5), (2, 8, 3, 4), (2, 8, 2, 3, 4)])
def test_a_group_normalization(shape: tuple[int, ...]) -> None:
    inputs = [normal(*shape), normal(8), normal(8)]
    assert check("GroupNormalization", inputs, opset=21, num_groups=2, epsilon=1e-3) == {C.GROUP_NORM}


QUERY, KEY, VALUE = normal(2, 3, 16), normal(2, 5, 16), normal(2, 5, 16)
HEADS = {"q_num_heads": 2, "kv_num_heads": 2}


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("attributes", [{}, {"is_causal": 1}, {"scale": 0.7}])
def test_attention_by_its_heads(dtype: Any, attributes: dict[str, Any]) -> None:
    inputs = [each.astype(dtype) for each in (QUERY, KEY, VALUE)]
    assert check("Attention", inputs, 3, **HEADS, **attributes) == {C.ATTENTION}


def test_attention_with_a_known_mask_and_past_keys() -> None:
    query, key, value = normal(1, 4, 3, 8), normal(1, 2, 3, 8), normal(1, 2, 3, 8)
    past = [normal(1, 2, 5, 8), normal(1, 2, 5, 8)]
    assert check("Attention", [query, key, value, None, *past], 3, is_causal=1) == {C.ATTENTION}
    mask = np.where(np.arange(8) == 3, -np.inf, normal(3, 8)).astype(np.float32)
    assert check("Attention", [query, key, value, mask, *past], 3) == {C.ATTENTION}
    assert check("Attention", [query, key, value, np.arange(8) != 2, *past], 3) == {C.ATTENTION}


def test_attention_whose_rows_may_have_no_key_is_its_function() -> None:
    """Such a row is 0 in ONNX."""
    inputs = [QUERY, KEY, VALUE]
    masked = np.where(np.arange(3)[:, None] == 1, -np.inf, np.zeros((3, 5))).astype(np.float32)
    assert C.ATTENTION not in check("Attention", [*inputs, masked], 3, **HEADS)
    assert C.ATTENTION not in check("Attention", [*inputs, normal(3, 5)], 4, **HEADS)
    assert C.ATTENTION not in check("Attention", inputs, 3, softcap=2.0, **HEADS)


ANGLES = RANDOM.uniform(0, 3, (10, 4))
CACHES = [function(ANGLES).astype(np.float32) for function in (np.cos, np.sin)]


@pytest.mark.parametrize("interleaved", [0, 1])
def test_a_rotary_embedding(interleaved: int) -> None:
    options, positions = {"interleaved": interleaved}, np.array([[0, 3, 2], [5, 9, 1]])
    lines = [cache[positions] for cache in CACHES]
    assert check("RotaryEmbedding", [normal(2, 2, 3, 8), *CACHES, positions], **options) == {C.ROTARY_EMBEDDING}
    assert check("RotaryEmbedding", [normal(2, 2, 3, 8), *lines], computed=3, **options) == {C.ROTARY_EMBEDDING}
    flat = [normal(2, 3, 16), *CACHES, positions]
    assert check("RotaryEmbedding", flat, num_heads=2, **options) == {C.ROTARY_EMBEDDING}
    wide = [normal(2, 2, 3, 12), *CACHES, positions]
    assert check("RotaryEmbedding", wide, rotary_embedding_dim=8, **options) == {C.ROTARY_EMBEDDING}
