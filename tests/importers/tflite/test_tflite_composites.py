"""Composites that a .tflite file names: those that say what their decomposition computes are taken by name."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flatbuffers import flexbuffers

import nnapi
from nnapi.codes import OperationCode as O
from nnapi.importers.tflite.rules.composites import NAMED
from nnapi.model.model import Model
from nnapi.operation_codes import CompositeCode as C
from tests.tflite_writer import Graph, T, const, f32, write

RANDOM = np.random.default_rng(5)


def normal(*shape: int) -> Any:
    return RANDOM.normal(size=shape).astype(np.float32)


GAMMA, BETA = normal(8), normal(8)


def number(value: float) -> T:
    return const([value], "FLOAT32")


def rms_norm(own: Any = None) -> tuple[Graph, list[T], T]:
    """x · rsqrt(mean(x²) + 1e-6) · own · gamma, as litert-torch decomposes it."""
    x, gamma, y = f32(2, 3, 8), f32(8), f32(2, 3, 8)
    square, mean, total, root, scaled, normed = (f32(2, 3, 8 if wide else 1) for wide in (1, 0, 0, 0, 1, 1))
    graph = Graph().operator("MUL", [x, x], [square])
    graph.operator("MEAN", [square, const([2])], [mean], "ReducerOptions", KeepDims=True)
    graph.operator("ADD", [mean, number(1e-6)], [total]).operator("RSQRT", [total], [root])
    graph.operator("MUL", [x, root], [scaled])
    graph.operator("MUL", [scaled, const(np.ones(8) if own is None else own, "FLOAT32")], [normed])
    return graph.operator("MUL", [normed, gamma], [y]).between([x, gamma], [y]), [x, gamma], y


def group_norm(shape: tuple[int, ...] = (2, 3, 4, 8)) -> tuple[Graph, list[T], T]:
    """A group normalization of two groups by 4 axes: a mean of pixels, then one of channels."""
    x, gamma, beta, y = f32(*shape), f32(8), f32(8), f32(*shape)
    divided, mean, off, square, variance, total, root, normal_x, rows, scaled = (
        f32(2, 12, 2, 4) if wide else f32(2, 1, 2, 1) for wide in (1, 0, 1, 1, 0, 0, 0, 1, 1, 1)
    )
    rows, scaled = f32(*shape), f32(*shape)
    graph = Graph().operator("RESHAPE", [x, const([2, 12, 2, 4])], [divided])
    graph.operator("MEAN", [divided, const([1, 3])], [mean], "ReducerOptions", KeepDims=True)
    graph.operator("SUB", [divided, mean], [off]).operator("MUL", [off, off], [square])
    graph.operator("MEAN", [square, const([1, 3])], [variance], "ReducerOptions", KeepDims=True)
    graph.operator("ADD", [variance, number(1e-5)], [total]).operator("RSQRT", [total], [root])
    graph.operator("MUL", [off, root], [normal_x]).operator("RESHAPE", [normal_x, const(list(shape))], [rows])
    graph.operator("MUL", [rows, gamma], [scaled]).operator("ADD", [scaled, beta], [y])
    return graph.between([x, gamma, beta], [y]), [x, gamma, beta], y


def attention() -> tuple[Graph, list[T], T]:
    """Attention over [batches, rows, heads, width], whose keys are repeated by a reshape that no pattern has."""
    query, key, value, mask, y = f32(1, 3, 2, 8), f32(1, 5, 2, 8), f32(1, 5, 2, 8), f32(1, 1, 3, 5), f32(1, 3, 2, 8)
    q, k, v, o = f32(1, 2, 3, 8), f32(1, 2, 5, 8), f32(1, 2, 5, 8), f32(1, 2, 3, 8)
    q3, k3, s3, scores = f32(2, 3, 8), f32(2, 5, 8), f32(2, 3, 5), f32(1, 2, 3, 5)
    scaled, masked, shares = (f32(1, 2, 3, 5) for _ in range(3))
    graph, swap = Graph(), const([0, 2, 1, 3])
    for source, target in ((query, q), (key, k), (value, v)):
        graph.operator("TRANSPOSE", [source, swap], [target])
    for source, target in ((q, q3), (k, k3)):
        graph.operator("RESHAPE", [source, const(list(target.shape))], [target])
    graph.operator("BATCH_MATMUL", [q3, k3], [s3], "BatchMatMulOptions", AdjY=True)
    graph.operator("RESHAPE", [s3, const([1, 2, 3, 5])], [scores]).operator("MUL", [scores, number(0.25)], [scaled])
    graph.operator("ADD", [scaled, mask], [masked]).operator("SOFTMAX", [masked], [shares], "SoftmaxOptions", Beta=1.0)
    graph.operator("BATCH_MATMUL", [shares, v], [o], "BatchMatMulOptions").operator("TRANSPOSE", [o, swap], [y])
    return graph.between([query, key, value, mask], [y]), [query, key, value, mask], y


def load(name: str, attributes: Any, parts: tuple[Graph, list[T], T], path: Path) -> Model:
    """The model of a file with one composite."""
    decomposition, inputs, y = parts
    content = attributes if isinstance(attributes, bytes) else bytes(flexbuffers.Dumps(attributes))
    fields: dict[str, Any] = {"Name": name, "DecompositionSubgraphIndex": 1, "CompositeAttributes": content}
    graph = Graph().operator("STABLEHLO_COMPOSITE", inputs, [y], "StableHLOCompositeOptions", **fields)
    file = path / f"{name}.tflite"
    file.write_bytes(write(graph.between(inputs, [y]), decomposition))
    return nnapi.load(file)


CASES = {
    "odml.rms_norm": (C.RMS_NORM, {"epsilon": 1e-6}, rms_norm),
    "odml.group_norm": (C.GROUP_NORM, {"num_groups": 2, "epsilon": 1e-5, "channel_axis": -1}, group_norm),
    "odml.scaled_dot_product_attention": (C.ATTENTION, {"scale": 0.25}, attention),
}


def codes(model: Model) -> set[int]:
    return {call.code for call in model.operations} - {O.TRANSPOSE, O.RESHAPE}


def test_every_name_has_a_case() -> None:
    assert set(NAMED) == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_a_name_is_what_its_decomposition_computes(name: str, tmp_path: Path) -> None:
    code, attributes, make = CASES[name]
    whole, parts = load(name, attributes, make(), tmp_path), load("another.name", attributes, make(), tmp_path)
    assert codes(whole) == {code}
    inputs = [normal(*operand.type.dimensions) for operand in map(whole.operands.__getitem__, whole.inputs)]
    found, expected = (nnapi.compile(each, "nnapi-reference").run(*inputs)[0] for each in (whole, parts))
    np.testing.assert_allclose(found, expected, 1e-5, 1e-5)


@pytest.mark.parametrize(
    ("name", "attributes"),
    [
        ("odml.group_norm", {"num_groups": 2, "epsilon": 1e-5, "channel_axis": 1}),
        ("odml.group_norm", {"num_groups": 2, "epsilon": 1e-5, "channel_axis": -1, "reduction_axes": 3}),
        ("odml.group_norm", {"num_groups": 3, "epsilon": 1e-5, "channel_axis": -1}),
        ("odml.group_norm", {"num_groups": "two", "epsilon": 1e-5, "channel_axis": -1}),
        ("odml.scaled_dot_product_attention", {"scale": 0.25, "logit_cap": 50.0}),
        ("odml.scaled_dot_product_attention", {}),
        ("odml.scaled_dot_product_attention", b"damaged"),
        ("odml.unknown", {"scale": 0.25}),
    ],
)
def test_other_attributes_are_decomposed(name: str, attributes: Any, tmp_path: Path) -> None:
    make = group_norm if name == "odml.group_norm" else attention
    model, plain = (load(each, attributes, make(), tmp_path) for each in (name, "another.name"))
    assert codes(model) == codes(plain)
    assert codes(model).isdisjoint({C.GROUP_NORM, C.ATTENTION})


def test_a_second_scale_within_is_not_lost(tmp_path: Path) -> None:
    """litert-torch's RMSNorm may have one, which is not an operand."""
    own, x = normal(8), normal(2, 3, 8)
    model = load("odml.rms_norm", {"epsilon": 1e-6}, rms_norm(own), tmp_path)
    found = nnapi.compile(model, "nnapi-reference").run(x, GAMMA)[0]
    expected = x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6) * own * GAMMA
    np.testing.assert_allclose(found, expected, 1e-5, 1e-5)
