"""Recurrent cells with every input and output, in both directions, against their formulas."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.rows import each_row

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import helper, numpy_helper  # noqa: E402

import nnapi  # noqa: E402
from nnapi.errors import BadDataError  # noqa: E402
from tests.importers.onnx.operator_cases import computed, loaded, made  # noqa: E402

STEPS, BATCHES, DEPTH, UNITS = 3, 2, 5, 3
RANDOM = np.random.default_rng(8)
X = RANDOM.normal(size=(STEPS, BATCHES, DEPTH)).astype(np.float32)
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
DIRECTIONS = ("forward", "reverse", "bidirectional")


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


FUNCTIONS: dict[str, Callable[[Any], Any]] = {"sigmoid": sigmoid, "tanh": np.tanh, "relu": lambda x: np.maximum(x, 0)}


def random_inputs(kind: str, directions: int) -> dict[str, Any]:
    """All inputs of a cell by ONNX's names, in their order."""
    gates = GATES[kind]
    shapes: dict[str, tuple[int, ...]] = {
        "W": (directions, gates * UNITS, DEPTH),
        "R": (directions, gates * UNITS, UNITS),
        "B": (directions, 2 * gates * UNITS),
        "sequence_lens": (),
        "initial_h": (directions, BATCHES, UNITS),
    }
    if kind == "LSTM":
        shapes |= {"initial_c": (directions, BATCHES, UNITS), "P": (directions, 3 * UNITS)}
    found: dict[str, Any] = {name: RANDOM.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    return found | {"sequence_lens": np.full(BATCHES, STEPS, np.int32)}


def one_step(kind: str, x: Any, h: Any, c: Any, own: dict[str, Any], functions: list[str], late: bool) -> Any:
    """The next output and state of one direction."""
    wide, recurrent = np.split(own["B"], 2)
    if kind == "RNN":
        return FUNCTIONS[functions[0]](x @ own["W"].T + h @ own["R"].T + wide + recurrent), c
    if kind == "GRU":
        (wz, wr, wh), (rz, rr, rh) = np.split(own["W"], 3), np.split(own["R"], 3)
        (bz, br, bh), (cz, cr, ch) = np.split(wide, 3), np.split(recurrent, 3)
        z, r = sigmoid(x @ wz.T + h @ rz.T + bz + cz), sigmoid(x @ wr.T + h @ rr.T + br + cr)
        inner = r * (h @ rh.T + ch) if late else (r * h) @ rh.T + ch
        return (1 - z) * np.tanh(x @ wh.T + inner + bh) + z * h, c
    i, o, f, g = np.split(x @ own["W"].T + h @ own["R"].T + wide + recurrent, 4, 1)
    pi, po, pf = np.split(own["P"], 3)
    c = sigmoid(f + pf * c) * c + sigmoid(i + pi * c) * np.tanh(g)
    return sigmoid(o + po * c) * np.tanh(c), c


def run(kind: str, inputs: dict[str, Any], direction: str, functions: list[str], late: bool) -> list[Any]:
    """Y, Y_h and Y_c."""
    outputs, last, states = [], [], []
    for k in range(len(inputs["W"])):
        own = {name: array[k] for name, array in inputs.items() if name != "sequence_lens"}
        order = range(STEPS) if k == 0 and direction != "reverse" else range(STEPS)[::-1]
        h, c, along = own["initial_h"], own.get("initial_c"), np.zeros((STEPS, BATCHES, UNITS))
        for t in order:
            h, c = one_step(kind, X[t], h, c, own, functions[k:], late)
            along[t] = h
        outputs.append(along)
        last.append(h)
        states.append(c)
    return [np.stack(outputs, 1), np.stack(last), np.stack(states) if kind == "LSTM" else None]


def check(
    kind: str, direction: str, given: str, *, layout: int = 0, functions: str = "", late: int = 0, opset: int = 17
) -> None:
    """Each output of a cell with these inputs is that of the formulas; other inputs are zero."""
    directions = 2 if direction == "bidirectional" else 1
    inputs = random_inputs(kind, directions)
    names = [name if name in given.split() else "" for name in inputs]
    known = {name: array if name in names else np.zeros_like(array) for name, array in inputs.items()}
    expected = run(kind, known, direction, (functions or "tanh tanh").lower().split(), bool(late))
    options: dict[str, Any] = {"hidden_size": UNITS, "direction": direction}
    options |= {"layout": layout} if layout else {}
    options |= {"activations": functions.split()} if functions else {}
    options |= {"linear_before_reset": late} if late else {}
    constants = {name: inputs[name] for name in names if name}
    x = X
    if layout:
        x = np.ascontiguousarray(X.transpose(1, 0, 2))
        constants |= {
            n: np.ascontiguousarray(constants[n].transpose(1, 0, 2)) for n in constants if n[:8] == "initial_"
        }
        expected = [
            expected[0].transpose(2, 0, 1, 3),
            *(e if e is None else e.transpose(1, 0, 2) for e in expected[1:]),
        ]
    for i, wanted in enumerate(expected):
        if wanted is not None:
            node = helper.make_node(kind, ["x", *names], [*[""] * i, "y"], **options)
            found = computed(loaded([node], constants, opset, x), x)
            np.testing.assert_allclose(found, wanted, 1e-4, 1e-5)


@each_row("direction", DIRECTIONS)
@each_row("layout", [0, 1])
@each_row("kind", GATES)
def test_all_inputs_and_outputs(kind: str, direction: str, layout: int) -> None:
    check(kind, direction, "W R B sequence_lens initial_h initial_c P", layout=layout)


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("given", ["W R", "W R B", "W R initial_h"])
def test_inputs_that_are_left_out_are_zero(kind: str, given: str) -> None:
    check(kind, "forward", given, opset=11)
    check(kind, "bidirectional", given)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_gru_resets_before_or_after_the_product(direction: str) -> None:
    check("GRU", direction, "W R B initial_h", late=1)


@pytest.mark.parametrize(
    ("kind", "direction", "functions"),
    [
        ("RNN", "forward", "Relu"),
        ("RNN", "reverse", "Sigmoid"),
        ("RNN", "bidirectional", "Relu Tanh"),
        ("RNN", "bidirectional", "TANH sigmoid"),
        ("LSTM", "forward", "Sigmoid Tanh Tanh"),
        ("LSTM", "bidirectional", "Sigmoid Tanh Tanh Sigmoid Tanh Tanh"),
        ("GRU", "forward", "Sigmoid Tanh"),
    ],
)
def test_functions_that_a_file_names(kind: str, direction: str, functions: str) -> None:
    check(kind, direction, "W R B initial_h", functions=functions)


@pytest.mark.parametrize(
    ("kind", "options", "changed", "reason"),
    [
        ("LSTM", {"activations": ["Sigmoid", "Elu", "Tanh"]}, {}, "it squashes by elu"),
        ("LSTM", {"activations": ["Sigmoid", "Tanh"]}, {}, "it names 2 activations, must be 3"),
        ("LSTM", {}, {"W": np.zeros((1, 9, DEPTH), np.float32)}, r"W is \[1, 9, 5\], must be \[1, 12, 5\]"),
        ("LSTM", {}, {"R": np.zeros((1, 9, UNITS), np.float32)}, r"R is \[1, 9, 3\], must be \[1, 12, 3\]"),
        ("GRU", {"activations": ["Sigmoid", "HardSigmoid"]}, {}, "it squashes by hardsigmoid"),
        ("GRU", {}, {"W": np.zeros((1, 9, 4), np.float32)}, r"W is \[1, 9, 4\], must be \[1, 9, 5\]"),
        ("GRU", {}, {"R": np.zeros((1, 8, UNITS), np.float32)}, r"R is \[1, 8, 3\], must be \[1, 9, 3\]"),
        ("RNN", {}, {"B": np.zeros((1, 7), np.float32)}, r"B is \[1, 7\], must be \[1, 6\]"),
        ("LSTM", {}, {"P": np.zeros((2, 9), np.float32)}, r"P is \[2, 9\], must be \[1, 9\]"),
        ("RNN", {"activations": ["Affine"]}, {}, "it squashes by affine"),
    ],
)
def test_other_cells_are_refused(kind: str, options: Any, changed: dict[str, Any], reason: str) -> None:
    constants = {name: array for name, array in random_inputs(kind, 1).items() if name in "WR"} | changed
    names = ["x", *(name if name in constants else "" for name in ("W", "R", "B", "", "", "", "P"))]
    with pytest.raises(BadDataError, match=reason):
        loaded([helper.make_node(kind, names, ["y"], hidden_size=UNITS, **options)], constants, x=X)


def test_sequences_of_other_ranks_and_types_are_refused() -> None:
    constants = {name: array for name, array in random_inputs("RNN", 1).items() if name in "WR"}
    node = helper.make_node("RNN", ["x", "W", "R"], ["y"], hidden_size=UNITS)
    for x in (X[0], X.astype(np.int32)):
        with pytest.raises(BadDataError, match="its input is not a float sequence of rank 3"):
            loaded([node], constants, x=x)


@each_row(
    ("kind", "options", "operation"),
    [
        ("GRU", {}, "GRU"),
        ("RNN", {}, "RNN_SEQUENCE"),
        ("RNN", {"activations": ["Relu"]}, "UNIDIRECTIONAL_SEQUENCE_RNN"),
        ("RNN", {"activations": ["Relu"], "clip": 2.0}, "RNN_SEQUENCE"),
        ("LSTM", {}, "UNIDIRECTIONAL_SEQUENCE_LSTM"),
        ("LSTM", {"clip": 2.0}, "LSTM_SEQUENCE"),
        ("LSTM", {"input_forget": 1}, "LSTM_SEQUENCE"),
        ("LSTM", {"activations": ["Sigmoid", "Relu", "Tanh"]}, "LSTM_SEQUENCE"),
    ],
)
@each_row("steps", [3, 1000])
def test_a_direction_is_one_operation(kind: str, options: dict[str, Any], operation: str, steps: int) -> None:
    """NNAPI's own where it has the same meaning, whatever the number of steps."""
    constants = {name: array for name, array in random_inputs(kind, 1).items() if name in "WR"}
    node = helper.make_node(kind, ["x", "W", "R"], ["y"], hidden_size=UNITS, **options)
    model = loaded([node], constants, x=np.zeros((steps, BATCHES, DEPTH), np.float32))
    assert [call.name for call in model.operations if call.name != "RESHAPE"] == [operation]


LENGTHS = {"whole": None, "shorter": [2, STEPS], "none": [0, 1], "computed": [1, 2]}


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("GRU", {}),
        ("GRU", {"linear_before_reset": 1, "clip": 0.3}),
        ("GRU", {"activations": ["Tanh", "Relu"]}),
        ("RNN", {"clip": 0.5}),
        ("RNN", {"activations": ["Relu"]}),
        ("LSTM", {}),
        ("LSTM", {"clip": 0.3}),
        ("LSTM", {"input_forget": 1, "activations": ["Sigmoid", "Relu", "Sigmoid"]}),
    ],
    ids=str,
)
def test_all_attributes_beside_onnx_runtime(kind: str, options: dict[str, Any], lengths: str, direction: str) -> None:
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    count = 2 if direction == "bidirectional" else 1
    options = dict(options, hidden_size=UNITS, direction=direction)
    if "activations" in options:
        options["activations"] = options["activations"] * count
    constants = random_inputs(kind, count)
    constants.pop("sequence_lens")
    given = {"x": X}
    inputs = [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, X.shape)]
    name, wanted = "", LENGTHS[lengths]
    if wanted is not None:
        name = "lengths"
        if lengths == "computed":
            given[name] = np.array(wanted, np.int32)
            inputs.append(helper.make_tensor_value_info(name, onnx.TensorProto.INT32, (BATCHES,)))
        else:
            constants[name] = np.array(wanted, np.int32)
    names = ["x", "W", "R", "B", name, *(each for each in ("initial_h", "initial_c", "P") if each in constants)]
    outputs = ["y", "last", "state"][: 3 if kind == "LSTM" else 2]
    node = helper.make_node(kind, names, outputs, **options)
    tensors = [numpy_helper.from_array(array, each) for each, array in constants.items()]
    graph = helper.make_graph([node], "g", inputs, [onnx.ValueInfoProto(name=each) for each in outputs], tensors)
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    content = proto.SerializeToString()
    expected = runtime.InferenceSession(content).run(None, given)
    found = nnapi.compile(nnapi.load(content), "nnapi-reference").run(*given.values())
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, 1e-4, 1e-5)


@pytest.mark.parametrize("options", [{}, {"clip": 100.0}], ids=["sequence", "composite"])
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("kind", GATES)
def test_weights_may_be_computed(kind: str, direction: str, options: dict[str, Any]) -> None:
    weights = random_inputs(kind, 2 if direction == "bidirectional" else 1)
    weights = {name: array for name, array in weights.items() if len(name) == 1}  # W, R, B and P
    names = ["x", "W", "R", "B", "", "", "", "P"][: 8 if "P" in weights else 4]
    node = helper.make_node(kind, names, ["y"], hidden_size=UNITS, direction=direction, **options)
    given = {"x": X, **weights}
    inputs = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, each.shape) for name, each in given.items()]
    graph = helper.make_graph([node], "g", inputs, [onnx.ValueInfoProto(name="y")])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (found,) = nnapi.compile(nnapi.load(proto.SerializeToString()), "nnapi-reference").run(*given.values())
    np.testing.assert_allclose(found, computed(loaded([node], weights, 17, X), X), 1e-5, 1e-6)


@pytest.mark.parametrize("layout", [0, 1])
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("kind", GATES)
def test_beside_the_reference_of_onnx(kind: str, direction: str, layout: int) -> None:
    evaluator = pytest.importorskip("onnx.reference")
    constants = random_inputs(kind, 2 if direction == "bidirectional" else 1)
    constants.pop("sequence_lens")
    x = X.swapaxes(0, 1).copy() if layout else X
    if layout:
        constants |= {each: array.swapaxes(0, 1) for each, array in constants.items() if each[:7] == "initial"}
    names = ["x", "W", "R", "B", "", *(each for each in ("initial_h", "initial_c", "P") if each in constants)]
    node = helper.make_node(kind, names, ["y"], hidden_size=UNITS, direction=direction, layout=layout)
    content = made([node], constants, x)
    (expected,) = evaluator.ReferenceEvaluator(onnx.load_from_string(content)).run(None, {"x": x})
    np.testing.assert_allclose(computed(nnapi.load(content), x), expected, 1e-4, 1e-5)
