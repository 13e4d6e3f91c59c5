"""If, Loop and Scan beside numbers that are written down: inlined where static, else IF and WHILE."""

from typing import Any

import numpy as np
import pytest

from tests.rows import each_row

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import TensorProto  # noqa: E402

import nnapi  # noqa: E402
from nnapi.codes import OperationCode  # noqa: E402
from tests.importers.onnx.literal_cases import file_of, node, reasons, results, subgraph  # noqa: E402

PAIR = np.array([1, 2], np.float32)
ROWS = np.array([[1, 2, 3], [10, 20, 30]], np.float32)


def codes(
    nodes: list[Any], inputs: dict[str, Any], constants: dict[str, Any] | None = None, outputs: str = "y"
) -> set[int]:
    return {call.code for call in nnapi.load(file_of(nodes, inputs, constants, outputs)).operations}


# If

CHOICE = {
    "then_branch": subgraph([node("Neg", "x", "a")], "", "a"),
    "else_branch": subgraph([node("Mul", "x x", "b")], "", "b"),
}


@pytest.mark.parametrize(
    ("condition", "found"), [(True, [-1, -2]), (False, [1, 4]), ([True], [-1, -2]), ([[False]], [1, 4])]
)
def test_the_branch_of_a_constant_condition_is_inlined(condition: Any, found: list[float]) -> None:
    assert results([node("If", "c", **CHOICE)], {"x": PAIR}, {"c": condition}) == [found]
    assert OperationCode.IF not in codes([node("If", "c", **CHOICE)], {"x": PAIR}, {"c": condition})


@pytest.mark.parametrize("condition", [[True, True], np.zeros(0, bool)])
def test_a_constant_condition_is_one_element(condition: Any) -> None:
    assert reasons([node("If", "c", **CHOICE)], {"x": PAIR}, {"c": condition}) == ["its condition is not one element"]


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_a_branch_is_chosen_at_each_run(shape: tuple[int, ...]) -> None:
    """Both branches capture; one of the tensors is captured by both, and read once as a sum and a difference."""
    then = subgraph([node("Sub", "x z", "a"), node("Identity", "z", "c")], "", "a c")
    other = subgraph([node("Mul", "w x", "b"), node("Neg", "w", "d")], "", "b d")
    choice = node("If", "on", "y v", then_branch=then, else_branch=other)
    inputs = {"x": PAIR, "w": np.array([3, 5], np.float32), "z": np.array([10, 20], np.float32)}
    for on, found in ((True, [[-9, -18], [10, 20]]), (False, [[3, 10], [-3, -5]])):
        assert results([choice], {"on": np.full(shape, on), **inputs}, outputs="y v") == found


def test_branches_of_constants_alone() -> None:
    branches = [
        subgraph([node("Constant", "", name, value_floats=numbers)], "", name)
        for name, numbers in (("a", [1.0, 2.0]), ("b", [3.0, 4.0]))
    ]
    choice = node("If", "on", then_branch=branches[0], else_branch=branches[1])
    for on, found in ((True, [1, 2]), (False, [3, 4])):
        assert results([choice], {"on": np.array(on)}) == [found]


def test_constants_are_not_captured() -> None:
    """The inputs of IF are the condition, both models, and what they read."""
    branches = [subgraph([node(kind, "x c", name)], "", name) for kind, name in (("Add", "a"), ("Sub", "b"))]
    choice = node("If", "on", then_branch=branches[0], else_branch=branches[1])
    model = nnapi.load(file_of([choice], {"x": PAIR, "on": np.array(True)}, {"c": np.float32(10)}))
    (call,) = model.operations
    assert [model.operands[index].name for index in call.inputs[3:]] == ["x"]
    assert results([choice], {"x": PAIR, "on": np.array(False)}, {"c": np.float32(10)}) == [[-9, -8]]


@pytest.mark.parametrize(("depth", "is_read"), [(20, True), (21, False)])
@pytest.mark.parametrize("is_constant", [True, False])
def test_branches_lie_in_each_other_at_most_20_deep(depth: int, is_read: bool, is_constant: bool) -> None:
    nodes = [node("Neg", "x", "y")]
    for _ in range(depth):
        nodes = [node("If", "c", then_branch=subgraph(nodes, "", "y"), else_branch=subgraph([], "", "x"))]
    constants = {"c": True} if is_constant else {}
    inputs = {"x": PAIR} if is_constant else {"x": PAIR, "c": np.array(True)}
    if is_read:
        assert results(nodes, inputs, constants) == [[-1, -2]]
    else:
        assert "functions lie more than 20 deep in each other" in reasons(nodes, inputs, constants)[0]


# Loop

STEPS = subgraph(
    [
        node("Cast", "i", "f", to=TensorProto.FLOAT),
        node("Add", "a f", "a2"),
        node("Mul", "b a", "b2"),
        node("Less", "i last", "on2"),
        node("Unsqueeze", "b axes", "seen"),
    ],
    "i on a b",
    "on2 a2 b2 seen",
)
"""a += i; b *= a, as it was; seen is b, as it was. It goes on while i < last."""
STATE = {"axes": np.array([1]), "b": np.array([[1, 2, 3]], np.float32)}


@pytest.mark.parametrize(
    ("limit", "last", "found"),
    [
        (1, 9, [[2], [[2, 4, 6]], [[[[1, 2, 3]]]]]),
        (3, 9, [[5], [[12, 24, 36]], [[[[1, 2, 3]]], [[[2, 4, 6]]], [[[4, 8, 12]]]]]),
        (9, 1, [[3], [[4, 8, 12]], [[[[1, 2, 3]]], [[[2, 4, 6]]]]]),
        (9, 0, [[2], [[2, 4, 6]], [[[[1, 2, 3]]]]]),
    ],
)
@pytest.mark.parametrize("going", ["-", "yes"])
def test_a_loop_of_static_steps_is_inlined(limit: int, last: int, found: list[Any], going: str) -> None:
    """The end may come from its limit, or from a condition that constants decide."""
    constants = {**STATE, "n": np.array(limit), "last": np.array(last), "yes": np.array([True])}
    loop = node("Loop", f"n {going} x b", "a b2 seen", body=STEPS)
    given = {"x": np.array([2], np.float32)}
    assert results([loop], given, constants, "a b2 seen") == found
    assert OperationCode.WHILE not in codes([loop], given, constants, "a b2 seen")


COUNTED = subgraph([node("Identity", "on", "on2"), node("Add", "a one", "a2")], "i on a", "on2 a2")
ONE = {"one": np.ones(2, np.float32), "zeros": np.zeros(2, np.float32)}


@pytest.mark.parametrize(
    ("limit", "going", "found"),
    [(0, "-", [1, 2]), (-1, "-", [1, 2]), (4, "no", [1, 2]), (4, "yes", [5, 6]), ([2], "-", [3, 4])],
)
def test_a_loop_of_no_steps_passes_its_state_through(limit: Any, going: str, found: list[float]) -> None:
    constants = {**ONE, "n": np.array(limit), "no": np.array(False), "yes": np.array(True)}
    assert results([node("Loop", f"n {going} x", body=COUNTED)], {"x": PAIR}, constants) == [found]


@pytest.mark.parametrize(("steps", "is_while"), [(256, False), (257, True)])
def test_at_most_256_steps_are_inlined(steps: int, is_while: bool) -> None:
    nodes, constants = [node("Loop", "n - x", body=COUNTED)], {**ONE, "n": np.array(steps)}
    assert results(nodes, {"x": PAIR}, constants) == [[steps + 1, steps + 2]]
    assert (OperationCode.WHILE in codes(nodes, {"x": PAIR}, constants)) is is_while


@pytest.mark.parametrize("going", ["-", "yes"])
@pytest.mark.parametrize("limit", [2**63 - 1, 2**31 - 1])
def test_an_endless_count_leaves_the_end_to_the_condition(limit: int, going: str) -> None:
    """PyTorch writes a while loop with the largest int64 as its count."""
    end = [node("ReduceMax", "a2", "m", keepdims=0), node("Less", "m last", "go")]
    body = subgraph([node("Add", "a one", "a2"), *end], "i on a", "go a2")
    constants = {**ONE, "n": np.array(limit), "last": np.float32(7), "yes": np.array(True)}
    assert results([node("Loop", f"n {going} x", body=body)], {"x": PAIR}, constants) == [[6, 7]]


def test_results_of_no_step_cannot_be_collected() -> None:
    constants = {**STATE, "n": np.array(0), "last": np.array(5)}
    found = reasons([node("Loop", "n - x b", "a c y", body=STEPS)], {"x": PAIR}, constants)
    assert found == ["its result has no elements"]


def test_constants_of_all_steps_are_stacked() -> None:
    squares = subgraph([node("Mul", "i i", "s"), node("Identity", "on", "on2")], "i on", "on2 s")
    nodes = [node("Loop", "n -", "all", body=squares), node("Cast", "all", "f", to=TensorProto.FLOAT)]
    nodes.append(node("Add", "x f"))
    x = np.array([[1], [100]], np.float32)
    assert results(nodes, {"x": x}, {"n": np.array(4)}) == [[[1, 2, 5, 10], [100, 101, 104, 109]]]


@pytest.mark.parametrize(("inputs", "outputs"), [("i on", "on2 on2"), ("i on a b", "on2 a")])
def test_a_body_of_other_inputs(inputs: str, outputs: str) -> None:
    body = subgraph([node("Identity", "on", "on2")], inputs, outputs)
    found = reasons([node("Loop", "n - x", body=body)], {"x": PAIR}, {"n": np.array(2)})
    assert found == ["its body takes other inputs"]


@pytest.mark.parametrize("limit", [{"n": np.array(1)}, {}])
def test_a_body_without_a_result_for_its_state(limit: dict[str, Any]) -> None:
    body = subgraph([node("Identity", "on", "on2")], "i on a", "on2")
    found = reasons([node("Loop", f"{'n' if limit else '-'} - x", body=body)], {"x": PAIR}, limit)
    assert found == ["its body gives other results"]


GROWING = subgraph(
    [
        node("Mul", "a factor", "a2"),
        node("Cast", "i", "f", to=TensorProto.FLOAT),
        node("Add", "b f", "b2"),
        node("ReduceMax", "a2", "most", keepdims=0),
        node("Less", "most top", "on2"),
    ],
    "i on a b",
    "on2 a2 b2",
)
"""a *= factor; b += i. It goes on while the largest of a is below the top."""


@each_row(
    ("limit", "on", "top", "found"),
    [
        (3, True, 1e9, [[27, 54], [103, 203, 303]]),
        (9, True, 17, [[9, 18], [101, 201, 301]]),
        (9, True, 1, [[3, 6], [100, 200, 300]]),
        (9, False, 1e9, [[1, 2], [100, 200, 300]]),
        (0, True, 1e9, [[1, 2], [100, 200, 300]]),
    ],
)
@each_row("computed", ["n on", "n", "on", ""])
def test_a_loop_of_computed_steps(limit: int, on: bool, top: float, found: list[Any], computed: str) -> None:
    """Its limit and its first condition may be constants; without steps and condition it is not a loop."""
    inputs = {"x": PAIR, "b": np.array([100, 200, 300], np.float32), "factor": np.array([3], np.float32)}
    either = {"n": np.array(limit), "on": np.array(on)}
    inputs |= {name: either[name] for name in computed.split()}
    constants = {"top": np.float32(top), **{name: each for name, each in either.items() if name not in inputs}}
    loop = node("Loop", "n on x b", "y z", body=GROWING)
    assert results([loop], inputs, constants, "y z") == found
    is_loop = OperationCode.WHILE in codes([loop], inputs, constants, "y z")
    assert is_loop is (bool(computed) or (limit > 0 and on))


def test_a_loop_without_a_limit() -> None:
    body = subgraph([node("Add", "a one", "a2"), node("Less", "a2 top", "on2")], "i on a", "on2 a2")
    constants = {"one": np.array([1], np.float32), "top": np.array([90], np.float32)}
    assert results([node("Loop", "- - x", body=body)], {"x": np.array([10], np.float32)}, constants) == [[90]]


def test_the_state_of_a_loop_keeps_its_type() -> None:
    body = subgraph([node("Concat", "a a", "a2", axis=0), node("Identity", "on", "on2")], "i on a", "on2 a2")
    (reason,) = reasons([node("Loop", "n - x", body=body)], {"x": PAIR, "n": np.array(2)})
    assert reason.startswith("a changes from TENSOR_FLOAT32[2] to TENSOR_FLOAT32[4]"), reason


# Scan

FOLD = subgraph(
    [
        node("Mul", "s two", "doubled"),
        node("Add", "doubled piece", "t"),
        node("Identity", "s", "before"),
        node("Neg", "piece", "negated"),
    ],
    "s piece",
    "t before negated",
)
"""s = 2 s + piece; the outputs are s, as it was, and -piece."""


@each_row(
    ("options", "last", "before", "negated"),
    [
        ({}, [12, 24, 36], [[0, 0, 0], [1, 2, 3]], [[-1, -2, -3], [-10, -20, -30]]),
        ({"scan_input_axes": [0]}, [12, 24, 36], [[0, 0, 0], [1, 2, 3]], [[-1, -2, -3], [-10, -20, -30]]),
        ({"scan_input_axes": [1]}, [11, 110], [[0, 0], [1, 10], [4, 40]], [[-1, -10], [-2, -20], [-3, -30]]),
        ({"scan_input_axes": [-1]}, [11, 110], [[0, 0], [1, 10], [4, 40]], [[-1, -10], [-2, -20], [-3, -30]]),
        ({"scan_input_directions": [1]}, [21, 42, 63], [[0, 0, 0], [10, 20, 30]], [[-10, -20, -30], [-1, -2, -3]]),
        (
            {"scan_output_axes": [1, 0]},
            [12, 24, 36],
            [[0, 1], [0, 2], [0, 3]],
            [[-1, -2, -3], [-10, -20, -30]],
        ),
        (
            {"scan_output_axes": [0, -1]},
            [12, 24, 36],
            [[0, 0, 0], [1, 2, 3]],
            [[-1, -10], [-2, -20], [-3, -30]],
        ),
        (
            {"scan_output_directions": [0, 1]},
            [12, 24, 36],
            [[0, 0, 0], [1, 2, 3]],
            [[-10, -20, -30], [-1, -2, -3]],
        ),
    ],
)
@each_row("is_constant", [False, True])
@each_row("opset", [9, 17])
def test_a_scan_along_either_axis_and_way(
    options: dict[str, Any], last: Any, before: Any, negated: Any, is_constant: bool, opset: int
) -> None:
    """Its pieces may be those of a constant; then only the state is computed."""
    scan = node("Scan", "zero rows", "y z v", body=FOLD, num_scan_inputs=1, **options)
    inputs: dict[str, Any] = {"zero": np.zeros(len(last), np.float32)}
    constants: dict[str, Any] = {"two": np.float32(2)}
    (constants if is_constant else inputs)["rows"] = ROWS
    assert results([scan], inputs, constants, "y z v", opset) == [last, before, negated]


@pytest.mark.parametrize(
    ("other", "axes", "directions", "found"),
    [
        ([[0, 2], [2, 2], [4, 1]], [0, 0], [0, 0], [4, 14, 26]),
        ([[4, 2, 0], [1, 2, 2]], [0, 1], [0, 0], [6, 14, 12]),
        ([[4, 2, 0], [1, 2, 2]], [0, 1], [0, 1], [4, 14, 26]),
        ([[4, 2, 0], [1, 2, 2]], [0, 1], [1, 0], [26, 14, 4]),
    ],
)
def test_a_scan_has_an_axis_and_a_way_for_each_input(other: Any, axes: Any, directions: Any, found: Any) -> None:
    """It has no state; each step multiplies a row of one matrix by a row or column of the other."""
    body = subgraph([node("Mul", "a b", "ab"), node("ReduceSum", "ab", "s", keepdims=0)], "a b", "s")
    options = {"scan_input_axes": axes, "scan_input_directions": directions}
    scan = node("Scan", "x w", body=body, num_scan_inputs=2, **options)
    given = {"x": np.array([[1, 2], [3, 4], [5, 6]], np.float32), "w": np.array(other, np.float32)}
    assert results([scan], given) == [found]


def test_a_scan_of_one_step() -> None:
    body = subgraph([node("Neg", "piece", "n")], "piece", "n")
    scan = node("Scan", "x", body=body, num_scan_inputs=1, scan_output_axes=[1])
    assert results([scan], {"x": ROWS[:1]}) == [[[-1], [-2], [-3]]]


def test_a_scan_reads_one_input_by_default() -> None:
    body = subgraph([node("Add", "s piece", "t")], "s piece", "t")
    assert results([node("Scan", "zero x", body=body)], {"zero": np.zeros(3), "x": ROWS.astype(float)}) == [
        [11, 22, 33]
    ]


@pytest.mark.parametrize(("count", "inputs"), [(0, "x"), (2, "x"), (-1, "x"), (3, "x x")])
def test_a_scan_reads_some_of_its_inputs(count: int, inputs: str) -> None:
    body = subgraph([node("Neg", "a", "b")], "a", "b")
    found = reasons([node("Scan", inputs, body=body, num_scan_inputs=count)], {"x": ROWS})
    most = len(inputs.split())
    assert found == [f"num_scan_inputs is {count}, must be 1 to {most}, its number of inputs"]


def test_the_inputs_of_a_scan_are_of_one_length() -> None:
    body = subgraph([node("Mul", "a b", "c")], "a b", "c")
    scan = node("Scan", "x w", body=body, num_scan_inputs=2)
    found = reasons([scan], {"x": ROWS, "w": np.ones((3, 3), np.float32)})
    assert found == ["its inputs have different lengths"]


def test_at_most_256_steps_of_a_scan_are_inlined() -> None:
    body = subgraph([node("Add", "s piece", "t")], "s piece", "t")
    nodes = [node("Scan", "zero rows", "sum", body=body, num_scan_inputs=1), node("Mul", "x sum")]
    for steps in (256, 257):
        constants = {"zero": np.zeros(2, np.float32), "rows": np.ones((steps, 2), np.float32)}
        if steps == 256:
            assert results(nodes, {"x": PAIR}, constants) == [[256, 512]]
        else:
            assert reasons(nodes, {"x": PAIR}, constants) == ["its 257 steps are too many to unroll"]


def test_a_scan_of_no_steps_keeps_its_state() -> None:
    body = subgraph([node("Add", "s piece", "t"), node("Neg", "t", "n")], "s piece", "t n")
    constants = {"one": np.ones(2, np.float32), "rows": np.ones((0, 2), np.float32)}
    scan = node("Scan", "one rows", "sum negative", body=body, num_scan_inputs=1)
    found = reasons([scan, node("Mul", "x negative")], {"x": PAIR}, constants)
    assert found == ["its result has no elements"]
    body = subgraph([node("Add", "s piece", "t")], "s piece", "t")
    nodes = [node("Scan", "one rows", "sum", body=body, num_scan_inputs=1), node("Mul", "x sum")]
    assert results(nodes, {"x": PAIR}, constants) == [PAIR.tolist()]


def test_a_scan_of_opset_8_is_refused() -> None:
    body = subgraph([node("Neg", "a", "b")], "a", "b")
    found = reasons([node("Scan", "- x", body=body, num_scan_inputs=1)], {"x": ROWS[None]}, opset=8)
    assert found == ["opset 8 defines it differently"]


@pytest.mark.parametrize("shape", [(2, 3, 1, 2, 1), (2, 3, 1, 2, 1, 1)])
def test_a_scan_of_a_tensor_beyond_the_rank_of_nnapi(shape: tuple[int, ...]) -> None:
    body = subgraph([node("Neg", "a", "n"), node("Reshape", "n flat", "b")], "a", "b")
    nodes = [
        node("Reshape", "x wide", "w"),
        node("Scan", "w", body=body, num_scan_inputs=1, scan_input_axes=[1]),
    ]
    constants = {"wide": np.array(shape), "flat": np.array([-1])}
    x = np.arange(12, dtype=np.float32)
    expected = [[0, -1, -6, -7], [-2, -3, -8, -9], [-4, -5, -10, -11]]
    assert results(nodes, {"x": x}, constants) == [expected]
