"""Normalizations, attention and rotary embeddings in exported files."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi.codes import OperationCode as O
from nnapi.exporters.tflite.composites import NAMES
from nnapi.formats.tflite.flexbuffer import read_map
from nnapi.formats.tflite.reader import File
from nnapi.importers.tflite.rules.composites import NAMED
from nnapi.operation_codes import CompositeCode as C
from tests.importers.tflite.against_litert import litert
from tests.ops.kernel_cases import build, normal

X, HEADS = normal(2, 3, 8), normal(1, 2, 3, 8)
GAMMA, BETA, MASK, COS, SIN = normal(8), normal(8), normal(3, 3), normal(3, 8), normal(3, 8)
CASES = {
    C.LAYER_NORM: (lambda b, x: b.layer_norm(x, GAMMA, BETA, -1, 1e-5), X),
    C.RMS_NORM: (lambda b, x: b.rms_norm(x, GAMMA, -1, 1e-5), X),
    C.ATTENTION: (lambda b, x: b.attention(x, x, x, MASK, 0.3), HEADS),
    C.ROTARY_EMBEDDING: (lambda b, x: b.rotary_embedding(x, COS, SIN, False), HEADS),
}


@pytest.mark.parametrize("suffix", [".onnx", ".tflite"])
@pytest.mark.parametrize("code", CASES, ids=lambda code: code.name)
def test_an_exported_composite_is_recognized(code: C, suffix: str, tmp_path: Path) -> None:
    if suffix == ".onnx":
        pytest.importorskip("onnx", reason="onnx is not installed")
    make, x = CASES[code]
    model, path = build(make, [x]), tmp_path / f"model{suffix}"
    nnapi.export(model, path)
    again = nnapi.load(path)
    codes = [call.code for call in again.operations]
    assert codes == [code] or (suffix == ".tflite" and code == C.ATTENTION and set(codes) == {code, O.TRANSPOSE})
    found, expected = (nnapi.compile(each, "nnapi-reference").run(x)[0] for each in (again, model))
    np.testing.assert_allclose(found, expected, 2e-6, 2e-6)


SIGNAL = normal(3, 16, 1)


@pytest.mark.parametrize(("length", "inverse", "onesided"), [(0, False, False), (10, True, False), (20, False, True)])
@pytest.mark.parametrize("suffix", [".onnx", ".tflite"])
def test_transforms_in_other_runtimes(suffix: str, length: int, inverse: bool, onesided: bool, tmp_path: Path) -> None:
    model, path = build(lambda b, x: b.dft(x, 1, length, inverse, onesided), [SIGNAL]), tmp_path / f"model{suffix}"
    expected = nnapi.compile(model, "nnapi-reference").run(SIGNAL)[0]
    if suffix == ".tflite":
        nnapi.export(model, path)
        (found,) = litert(path.read_bytes(), [SIGNAL])
    else:
        pytest.importorskip("onnx", reason="onnx is not installed")
        nnapi.export(model, path)
        assert [call.code for call in nnapi.load(path).operations] == [C.DFT]
        onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        found = session.run(None, {session.get_inputs()[0].name: SIGNAL})[0]  # within 2e-5 of the sums
    np.testing.assert_allclose(found, expected, 0, 1e-4)


LONG = normal(2, 1024, 3, 1)


@pytest.mark.parametrize(
    ("axis", "length", "inverse", "onesided", "kind"),
    [
        (1, 0, False, True, "RFFT2D"),
        (1, 2048, False, True, "RFFT2D"),
        (1, 1025, False, True, "FULLY_CONNECTED"),
        (1, 512, False, True, "FULLY_CONNECTED"),
        (1, 0, False, False, "FULLY_CONNECTED"),
    ],
)
def test_long_transforms_of_real_signals_in_tflite_files(
    axis: int, length: int, inverse: bool, onesided: bool, kind: str, tmp_path: Path
) -> None:
    """LiteRT's operator takes powers of 2, and is slower than a product with a matrix for short signals."""
    model, path = build(lambda b, x: b.dft(x, axis, length, inverse, onesided), [LONG]), tmp_path / "model.tflite"
    nnapi.export(model, path)
    assert kind in [operator.kind for operator in File(memoryview(path.read_bytes())).subgraph(0).operators]
    (expected,) = nnapi.compile(model, "nnapi-reference").run(LONG)
    (again,) = nnapi.compile(nnapi.load(path), "nnapi-reference").run(LONG)
    np.testing.assert_allclose(again, expected, 0, 1e-3)
    np.testing.assert_allclose(litert(path.read_bytes(), [LONG])[0], expected, 0, 1e-3)


WHOLE = np.array([[-7, 9, 4], [0, 2, -3]], np.int32)
PLACES = np.array([[0, 1, 31], [32, -1, 33]], np.int32)
SHIFT = ["Less", "Less", "Or", "Where", "Cast", "Cast", "BitShift", "Cast", "Where"]
FLIP = ["Less", "Cast", "Neg", "BitwiseXor"]
EXACT = [
    (".onnx", lambda b, x: b.mod(x, np.array([3, -2, 5], np.int32), False), WHOLE, ["Mod"]),
    (".onnx", lambda b, x: b.mod(x, np.array([3, -2, 5], np.int32), True), WHOLE, ["Mod"]),
    (".onnx", lambda b, x: b.mod(x, np.array([2], np.float32), True), GAMMA, ["Mod"]),
    (".onnx", lambda b, x: b.bitwise_and(b.bitwise_or(x, WHOLE[0]), x), WHOLE, ["BitwiseOr", "BitwiseAnd"]),
    (".onnx", lambda b, x: b.left_shift(x, PLACES), WHOLE, SHIFT),
    (
        ".onnx",
        lambda b, x: b.right_shift(x, PLACES),
        WHOLE,
        [*SHIFT[:4], "Less", "Cast", "Neg", "BitwiseXor", *SHIFT[4:8], "BitwiseXor"],
    ),
    (".tflite", lambda b, x: b.mod(x, np.array([3, -2, 5], np.int32), False), WHOLE, ["FLOOR_MOD"]),
    (".tflite", lambda b, x: b.right_shift(x, np.array([0, 1, 3], np.int32)), WHOLE, ["RIGHT_SHIFT"]),
    (".tflite", lambda b, x: b.bitwise_xor(x, x), WHOLE, ["BITWISE_XOR"]),
    (".tflite", lambda b, x: b.bitcast(x, out=nnapi.tensor("int32", x.shape)), GAMMA, ["BITCAST"]),
]


@pytest.mark.parametrize(("suffix", "make", "x", "kinds"), EXACT)
def test_integers_and_bits_in_other_runtimes(suffix: str, make: Any, x: Any, kinds: list[str], tmp_path: Path) -> None:
    model, path = build(make, [x]), tmp_path / f"model{suffix}"
    expected = nnapi.compile(model, "nnapi-reference").run(x)[0]
    if suffix == ".onnx":
        onnx = pytest.importorskip("onnx", reason="onnx is not installed")
        nnapi.export(model, path)
        assert [node.op_type for node in onnx.load(path).graph.node] == kinds
        found = nnapi.compile(nnapi.load(path), "nnapi-reference").run(x)[0]
    else:
        nnapi.export(model, path)
        (found,) = litert(path.read_bytes(), [x])
    np.testing.assert_array_equal(found, expected)


def read_composites(path: Path) -> list[tuple[str, dict[str, Any]]]:
    file = File(memoryview(path.read_bytes()))
    operators = [each for each in file.subgraph(0).operators if each.kind == "STABLEHLO_COMPOSITE"]
    return [(name, read_map(content)) for name, content in (each.composite() for each in operators)]


IMAGE = normal(1, 4, 5, 8)
GROUPS = "odml.group_norm", {"num_groups": 2, "epsilon": 0.25, "channel_axis": 3}


def test_the_importer_takes_all_names_of_the_exporter() -> None:
    assert set(NAMES) == {C.RMS_NORM, C.GROUP_NORM, C.ATTENTION}
    assert {"odml.rms_norm", "odml.group_norm", "odml.scaled_dot_product_attention"} <= set(NAMED)


@pytest.mark.parametrize(
    ("make", "x", "named"),
    [
        (lambda b, x: b.rms_norm(x, GAMMA, 2, 0.25), X, ("odml.rms_norm", {"epsilon": 0.25})),
        (lambda b, x: b.group_norm(x, GAMMA, BETA, 2, 0.25), IMAGE, GROUPS),
        (lambda b, x: b.rms_norm(x, None, 2, 0.25), X, None),
        (lambda b, x: b.rms_norm(x, normal(3, 8), 1, 0.25), X, None),
        (lambda b, x: b.group_norm(x, GAMMA, None, 2, 0.25), IMAGE, None),
        (
            lambda b, x: b.group_norm(x, GAMMA.astype(np.float16), BETA.astype(np.float16), 2, 0.25),
            np.float16(IMAGE),
            GROUPS,
        ),
    ],
    ids=["root mean square", "groups", "without scale", "several axes", "without bias", "float16"],
)
def test_tflite_files_name_normalizations(make: Any, x: Any, named: Any, tmp_path: Path) -> None:
    """LiteRT runs the subgraph of the composite, in float32."""
    model, path = build(lambda b, x: b.neg(make(b, x)), [x]), tmp_path / "model.tflite"
    nnapi.export(model, path)
    assert read_composites(path) == ([named] if named else [])
    (expected,) = nnapi.compile(model, "nnapi-reference").run(x)
    again = nnapi.load(path)
    if named and x.dtype == np.float32:
        assert [call.name for call in again.operations] == [call.name for call in model.operations]
    tolerance = 1e-2 if x.dtype == np.float16 else 5e-6
    np.testing.assert_allclose(nnapi.compile(again, "nnapi-reference").run(x)[0], expected, tolerance, tolerance)
    litert = pytest.importorskip("ai_edge_litert.interpreter", reason="LiteRT is not installed")
    interpreter = litert.Interpreter(str(path))
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
    interpreter.invoke()
    found = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    np.testing.assert_allclose(found, expected, tolerance, tolerance)


ROWS = normal(1, 3, 2, 8)
SCALE = "odml.scaled_dot_product_attention", {"scale": 0.25}


def attend(b: Any, x: Any, mask: Any = MASK) -> Any:
    """Attention of rows and heads, as networks have it."""
    query, key, value = (b.transpose(b.mul(x, normal(8)), [0, 2, 1, 3]) for _ in range(3))
    return b.relu(b.transpose(b.attention(query, key, value, mask, 0.25), [0, 2, 1, 3]))


@pytest.mark.parametrize(
    ("make", "x", "kinds"),
    [
        (attend, ROWS, ["MUL", "MUL", "MUL", "STABLEHLO_COMPOSITE", "RELU"]),
        (lambda b, x: b.attention(x, x, x, MASK, 0.25), HEADS, ["TRANSPOSE", "STABLEHLO_COMPOSITE", "TRANSPOSE"]),
        (
            lambda b, x: b.attention(x, normal(1, 2, 5, 8), normal(1, 2, 5, 4), normal(1, 1, 3, 5), 0.25),
            HEADS,
            ["TRANSPOSE", "STABLEHLO_COMPOSITE", "TRANSPOSE"],
        ),
        (lambda b, x: b.attention(x, x, x, None, 0.25), HEADS, None),
        (lambda b, x: b.attention(x, x, x, MASK, 0.25), HEADS[0], None),
    ],
    ids=["network", "heads first", "constants", "without mask", "rank 3"],
)
def test_tflite_files_name_attention(make: Any, x: Any, kinds: Any, tmp_path: Path) -> None:
    """There, rows come before heads. Pairs of TRANSPOSE that this makes are removed."""
    model, path = build(make, [x]), tmp_path / "model.tflite"
    nnapi.export(model, path)
    written = [operator.kind for operator in File(memoryview(path.read_bytes())).subgraph(0).operators]
    assert read_composites(path) == ([SCALE] if kinds else [])
    assert kinds is None or written == kinds
    (expected,) = nnapi.compile(model, "nnapi-reference").run(x)
    again = nnapi.load(path)
    assert C.ATTENTION in [call.code for call in again.operations]
    np.testing.assert_allclose(nnapi.compile(again, "nnapi-reference").run(x)[0], expected, 5e-6, 5e-6)
    np.testing.assert_allclose(litert(path.read_bytes(), [x])[0], expected, 5e-6, 5e-6)


def test_attention_of_a_dynamic_batch_is_named(tmp_path: Path) -> None:
    b = nnapi.Builder()
    x = b.input(nnapi.tensor("float32", (0, 3, 2, 8)), "rows")
    b.output(attend(b, x))
    model, path = b.finish(), tmp_path / "model.tflite"
    nnapi.export(model, path)
    assert read_composites(path) == [SCALE]
    given = normal(4, 3, 2, 8)
    expected, found = (nnapi.compile(each, "nnapi-reference").run(given)[0] for each in (model, nnapi.load(path)))
    np.testing.assert_allclose(found, expected, 5e-6, 5e-6)


def test_a_named_composite_keeps_a_dynamic_dimension(tmp_path: Path) -> None:
    b = nnapi.Builder()
    rows = b.input(nnapi.tensor("float32", (0, 3, 8)), "rows")
    b.output(b.rms_norm(b.relu(rows), GAMMA, -1, 1e-5))
    model, path = b.finish(), tmp_path / "model.tflite"
    nnapi.export(model, path)
    assert [name for name, _ in read_composites(path)] == ["odml.rms_norm"]
    x = normal(5, 3, 8)
    (expected,) = nnapi.compile(model, "nnapi-reference").run(x)
    litert = pytest.importorskip("ai_edge_litert.interpreter", reason="LiteRT is not installed")
    interpreter = litert.Interpreter(str(path))
    interpreter.resize_tensor_input(interpreter.get_input_details()[0]["index"], x.shape)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
    interpreter.invoke()
    found = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    np.testing.assert_allclose(found, expected, 5e-6, 5e-6)


@pytest.mark.parametrize(
    ("make", "is_whole"),
    [
        (lambda b, x: b.layer_norm(x, GAMMA, BETA, -1, 1e-5), True),
        (lambda b, x: b.layer_norm(x, None, normal(3, 8), 1, 1e-5), True),
        (lambda b, x: b.layer_norm(x, normal(3, 1), None, 1, 1e-5), False),
        (lambda b, x: b.group_norm(x, GAMMA, BETA, 2, 1e-5), False),
    ],
)
def test_onnx_has_layer_normalization(make: Any, is_whole: bool, tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    model, path = build(make, [X]), tmp_path / "model.onnx"
    nnapi.export(model, path)
    kinds = [node.op_type for node in onnx.load(path).graph.node]
    assert (kinds == ["LayerNormalization"]) == is_whole
    onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    found = session.run(None, {session.get_inputs()[0].name: X})[0]
    np.testing.assert_allclose(found, nnapi.compile(model, "nnapi-reference").run(X)[0], 2e-6, 2e-6)


def write_back(b: Any, x: Any, column_major: bool) -> Any:
    largest, positions = b.argmax_pool_2d(x, [[0, 0]] * 2, [2, 3], [2, 3], column_major)
    return b.max_unpool_2d(largest, positions, [2, 3], column_major)


@pytest.mark.parametrize("column_major", [False, True])
@pytest.mark.parametrize("suffix", [".onnx", ".tflite"])
def test_maxima_are_written_back_by_other_runtimes(suffix: str, column_major: bool, tmp_path: Path) -> None:
    """By operators that every runtime has: LiteRT has MediaPipe's only with XNNPACK."""
    x, path = np.random.default_rng(3).integers(0, 3, (1, 4, 9, 2)).astype(np.float32), tmp_path / f"model{suffix}"
    model = build(lambda b, x: write_back(b, x, column_major), [x])
    expected = nnapi.compile(model, "nnapi-reference").run(x)[0]
    if suffix == ".onnx":
        onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    nnapi.export(model, path)
    if suffix == ".tflite":
        assert not [
            each.kind for each in File(memoryview(path.read_bytes())).subgraph(0).operators if "CUSTOM" in each.kind
        ]
        (found,) = litert(path.read_bytes(), [x])
    else:
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        found = session.run(None, {session.get_inputs()[0].name: x})[0]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("kind", "operator"), [("mean_v2", "MEAN"), ("reduce_sum_v2", "SUM")])
def test_reductions_to_another_scale_in_tflite_files(kind: str, operator: str, tmp_path: Path) -> None:
    x, out = np.arange(-12, 12, dtype=np.int8).reshape(4, 6), nnapi.tensor("int8", (4,), 0.6, 3)
    b = nnapi.Builder()
    b.output(getattr(b, kind)(b.input(nnapi.tensor("int8", x.shape, 0.5, 1)), [1], False, out=out))
    model, path = b.finish(), tmp_path / "model.tflite"
    nnapi.export(model, path)
    kinds = [each.kind for each in File(memoryview(path.read_bytes())).subgraph(0).operators]
    assert [each for each in kinds if each != "RESHAPE"] == [operator]
    expected = nnapi.compile(model, "nnapi-reference").run(x)[0]
    np.testing.assert_allclose(litert(path.read_bytes(), [x])[0], expected, atol=1)
    np.testing.assert_array_equal(nnapi.compile(nnapi.load(path), "nnapi-reference").run(x)[0], expected)
