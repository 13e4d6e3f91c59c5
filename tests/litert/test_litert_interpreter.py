"""The interpreter in LiteRT's place, call by call beside LiteRT's own."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nnapi
from tests.rows import each_row
from tests.tflite_writer import Graph, T, const, single, write

litert = pytest.importorskip("ai_edge_litert.interpreter", reason="ai-edge-litert is not installed")
from nnapi.litert import Interpreter  # noqa: E402  # LiteRT is the class that it derives from
from tests.dynamic_range_cases import CASES, make_input  # noqa: E402
from tests.litert.interpreter_cases import both, feed, needs_library, rng, run, values  # noqa: E402
from tests.litert.model_cases import (  # noqa: E402
    OUT,
    SUM,
    X,
    Y,
    dense,
    misstated,
    open_batch,
    signatures,
    two_steps,
    unsigned_bits,
    whole_numbers,
)

pytestmark = pytest.mark.engine


@pytest.mark.parametrize("content", [two_steps(), dense(), open_batch()], ids=["two steps", "dense", "open batch"])
def test_it_describes_and_computes_what_litert_does(content: bytes) -> None:
    foreign, ours = pair = both(content)
    for interpreter in pair:
        interpreter.allocate_tensors()
    assert str(ours.get_input_details()) == str(foreign.get_input_details())
    names = [details["name"] for details in foreign.get_tensor_details()]
    assert [details["name"] for details in ours.get_tensor_details()] == names[: len(ours.get_tensor_details())]
    assert ours.num_subgraphs() == 1
    for _ in range(2):
        feed(pair)
        run(pair)


@pytest.mark.parametrize("rows", [2, 3])
def test_outputs_have_the_shapes_that_follow_from_the_operators(rows: int) -> None:
    """Before the first run, whatever the file states."""
    foreign, ours = pair = both(misstated())
    for interpreter in pair:
        if rows != 2:
            interpreter.resize_tensor_input(0, [rows, 4])
        interpreter.allocate_tensors()
    assert [value.shape for value in values(ours)] == [(rows, 4)] * 2
    for _ in range(2):
        assert str(ours.get_output_details()) == str(foreign.get_output_details())
        feed(pair)
        run(pair)


def test_operators_are_described_as_the_file_has_them() -> None:
    _, ours = both(two_steps())
    ours.allocate_tensors()
    assert [details["op_name"] for details in ours._get_ops_details()] == ["ADD", "MUL"]


def test_a_file_is_named_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(dense())
    ours = Interpreter(path, devices="nnapi-reference")
    ours.allocate_tensors()
    pair = (litert.Interpreter(str(path)), ours)
    pair[0].allocate_tensors()
    feed(pair)
    run(pair)


BEFORE: list[Callable[[Any], Any]] = [
    lambda i: i.invoke(),
    lambda i: i.get_tensor(0),
    lambda i: i.set_tensor(0, np.zeros((2, 3), np.float32)),
    lambda i: i.tensor(0)(),
    lambda i: i.get_signature_runner(),
    lambda i: i.get_signature_runner("none"),
    lambda i: i.get_tensor_details(3),
]
AFTER: list[Callable[[Any], Any]] = [
    lambda i: i.set_tensor(99, np.zeros((2, 3), np.float32)),
    lambda i: i.set_tensor(-1, np.zeros((2, 3), np.float32)),
    lambda i: i.set_tensor(0, np.zeros((2, 3), np.int32)),
    lambda i: i.set_tensor(0, np.zeros((3, 2), np.float32)),
    lambda i: i.set_tensor(0, np.zeros((2, 3, 1), np.float32)),
    lambda i: i.set_tensor(0, [[1, 2, 3], [4, 5, 6]]),
    lambda i: i.get_tensor(99),
    lambda i: i.tensor(99)(),
    lambda i: i.resize_tensor_input(99, [1]),
    lambda i: i.resize_tensor_input(0, [4, 3], strict=True),
]


@each_row(("misuse", "is_allocated"), [*((each, False) for each in BEFORE), *((each, True) for each in AFTER)])
def test_what_litert_refuses_is_refused_in_its_words(misuse: Callable[[Any], Any], is_allocated: bool) -> None:
    raised = []
    for interpreter in both(two_steps()):
        if is_allocated:
            interpreter.allocate_tensors()
        with pytest.raises((ValueError, RuntimeError)) as caught:
            misuse(interpreter)
        raised.append((type(caught.value), str(caught.value)))
    assert raised[0] == raised[1]


@pytest.mark.parametrize(
    "options",
    [{}, {"model_path": "/no/such.tflite"}, {"model_content": b"x"}, {"model_content": dense(), "num_threads": 0}],
    ids=["nothing", "no file", "no model", "no threads"],
)
def test_what_cannot_be_made_is_refused_in_its_words(options: dict[str, Any]) -> None:
    raised = []
    for kind in (litert.Interpreter, Interpreter):
        with pytest.raises(ValueError, match=r"\w") as caught:
            kind(**options)
        raised.append(str(caught.value))
    assert raised[0] == raised[1]


def test_too_many_threads_are_refused_before_an_engine_starts_them() -> None:
    with pytest.raises(ValueError, match="num_threads is 50000, must be from 1 to 1024"):
        Interpreter(model_content=dense(), num_threads=50000)


def test_only_inputs_are_set() -> None:
    _, ours = both(two_steps())
    ours.allocate_tensors()
    with pytest.raises(ValueError, match="tensor 2 is not an input of the model"):
        ours.set_tensor(2, np.zeros((2, 3), np.float32))


@pytest.mark.parametrize("content", [dense(), open_batch()], ids=["fixed", "open"])
def test_inputs_are_resized(content: bytes) -> None:
    pair = both(content)
    index = pair[0].get_input_details()[0]["index"]
    for rows in (3, 1, 3):
        for interpreter in pair:
            interpreter.resize_tensor_input(index, [rows, interpreter.get_input_details()[0]["shape"][1]])
            interpreter.allocate_tensors()
        assert str(pair[1].get_input_details()) == str(pair[0].get_input_details())
        feed(pair)
        run(pair)
        assert values(pair[1])[0].shape[0] == rows


def test_strict_resizing_takes_what_the_signature_leaves_open() -> None:
    pair = both(open_batch())
    for interpreter in pair:
        interpreter.resize_tensor_input(0, [5, 3], strict=True)
        interpreter.allocate_tensors()
    feed(pair)
    run(pair)


def test_views_show_the_memory_and_forbid_runs_while_they_live() -> None:
    pair = both(two_steps())
    for interpreter in pair:
        interpreter.allocate_tensors()
        interpreter.tensor(0)()[...] = 2
        interpreter.tensor(1)().fill(3)
        interpreter.invoke()
        output = interpreter.get_output_details()[0]["index"]
        view = interpreter.tensor(output)()
        np.testing.assert_array_equal(view, np.full((2, 3), 15, np.float32))
        row = view[0]
        del view
        for refused in (interpreter.invoke, interpreter.allocate_tensors):
            with pytest.raises(RuntimeError, match="at least 1 reference"):
                refused()
        del row
        interpreter.invoke()


def test_what_get_tensor_gives_is_a_copy() -> None:
    _, ours = both(two_steps())
    ours.allocate_tensors()
    ours.invoke()
    before = ours.get_tensor(3)
    ours.set_tensor(0, np.ones((2, 3), np.float32))
    ours.set_tensor(1, np.ones((2, 3), np.float32))
    ours.invoke()
    np.testing.assert_array_equal(before, 0)
    np.testing.assert_array_equal(ours.get_tensor(3), 2)


def test_all_tensors_can_be_preserved() -> None:
    pair = both(two_steps(), experimental_preserve_all_tensors=True)
    for interpreter in pair:
        interpreter.allocate_tensors()
    feed(pair)
    run(pair)
    np.testing.assert_allclose(pair[1].get_tensor(2), pair[0].get_tensor(2), 1e-6)


def test_constants_can_be_read() -> None:
    pair = both(dense())
    for interpreter in pair:
        interpreter.allocate_tensors()
    np.testing.assert_array_equal(pair[1].get_tensor(1), pair[0].get_tensor(1))


def with_atan2() -> bytes:
    """An operator in the middle that NNAPI does not have."""
    angle, first = T("FLOAT32", (2, 3), name="angle"), T("FLOAT32", (2, 3), name="first")
    graph = Graph().operator("ADD", [X, Y], [SUM], "AddOptions").operator("ATAN2", [SUM, Y], [angle])
    graph.operator("MUL", [angle, SUM], [first], "MulOptions").operator("TANH", [first], [OUT])
    return write(graph.between([X, Y], [OUT, angle]))


def test_what_nnapi_cannot_express_is_named() -> None:
    _, ours = both(with_atan2())
    with pytest.raises(RuntimeError, match="(?s)ATAN2.*inverse trigonometric.*fallback=True"):
        ours.allocate_tensors()


@pytest.mark.parametrize("preserve", [pytest.param(False, marks=needs_library), True])
def test_what_nnapi_cannot_express_falls_back(preserve: bool) -> None:
    pair = both(with_atan2(), fallback=True, experimental_preserve_all_tensors=preserve)
    for interpreter in pair:
        interpreter.allocate_tensors()
    for _ in range(2):
        feed(pair)
        run(pair)
    told = pair[1].explain()
    assert "inverse trigonometric" in told
    if not preserve:
        assert "left to LiteRT: ATAN2" in told
        assert "#0 ADD" in told
    else:  # LiteRT alone has all tensors
        np.testing.assert_allclose(pair[1].get_tensor(2), pair[0].get_tensor(2), 1e-6)


def test_what_falls_back_is_resized() -> None:
    pair = both(with_atan2(), fallback=True)
    for interpreter in pair:
        for index in (0, 1):
            interpreter.resize_tensor_input(index, [4, 3])
        interpreter.allocate_tensors()
    feed(pair)
    run(pair)


def test_strings_go_through_litert() -> None:
    words, places, chosen = (
        T("STRING", (4,), name="words"),
        T("INT64", (2,), name="places"),
        T("STRING", (2,), name="y"),
    )
    content = single("GATHER", [words, places], chosen, "GatherOptions")
    pair = both(content, fallback=True)
    for given in (["ab", "c", "", "Olá"], [b"1", b"22", b"333", b"4"]):
        for interpreter in pair:
            interpreter.allocate_tensors()
            interpreter.set_tensor(0, np.array(given))
            interpreter.set_tensor(1, np.array([3, 0]))
            interpreter.invoke()
        for index in (0, 2):
            assert pair[1].get_tensor(index).tolist() == pair[0].get_tensor(index).tolist()
    for interpreter in pair:
        with pytest.raises(ValueError, match="Dimension mismatch"):
            interpreter.set_tensor(0, np.array(["a"]))


def test_what_is_empty_falls_back() -> None:
    x, y = T("FLOAT32", (1,), name="x", signature=(-1,)), T("FLOAT32", (), name="y")
    content = single("SUM", [x, const([0])], y, "ReducerOptions")
    pair = both(content, fallback=True)
    for interpreter in pair:
        interpreter.resize_tensor_input(0, [0])
        interpreter.allocate_tensors()
        interpreter.invoke()
    assert values(pair[1])[0] == values(pair[0])[0] == 0


def test_types_that_nnapi_lacks_are_converted_at_both_ends() -> None:
    pair = both(whole_numbers())
    for interpreter in pair:
        interpreter.allocate_tensors()
    feed(pair, -9, 9)
    run(pair)
    pair[1].set_tensor(0, np.full(3, 1 << 40))
    with pytest.raises(RuntimeError, match="a holds integers beyond int32"):
        pair[1].invoke()


def test_unsigned_numbers_that_fit_are_converted_at_both_ends() -> None:
    pair = both(unsigned_bits())
    for interpreter in pair:
        interpreter.allocate_tensors()
        interpreter.set_tensor(0, np.array([1, 7, 2**31 - 1], np.uint32))
        interpreter.set_tensor(1, np.array([2, 5, 0], np.uint32))
    run(pair)
    pair[1].set_tensor(1, np.array([0, 0, 2**31], np.uint32))
    with pytest.raises(RuntimeError, match="b holds integers beyond int32"):
        pair[1].invoke()


def test_it_is_freed_without_a_garbage_collection() -> None:
    gc.disable()
    try:
        interpreter: Any = Interpreter(model_content=whole_numbers(), devices="nnapi-reference")
        interpreter.allocate_tensors()
        interpreter.invoke()
        alive = weakref.ref(interpreter), weakref.ref(interpreter._main.graph.compilation)
        del interpreter
        assert [each() for each in alive] == [None, None]
    finally:
        gc.enable()


def test_scalars_stay_scalars() -> None:
    x, y = T("FLOAT32", (), name="x"), T("FLOAT32", (), name="y")
    pair = both(single("TANH", [x], y))
    for interpreter in pair:
        interpreter.allocate_tensors()
        interpreter.set_tensor(0, np.float32(0.5))
    run(pair)


def test_it_explains_what_runs_where() -> None:
    _, ours = both(two_steps())
    with pytest.raises(RuntimeError, match="call allocate_tensors first"):
        ours.explain()
    ours.allocate_tensors()
    assert "nnapi-reference" in ours.explain()


@pytest.mark.parametrize("name", ["add", "multiply"])
def test_signatures_are_called_by_name(name: str) -> None:
    pair = both(signatures())
    assert pair[1].get_signature_list() == pair[0].get_signature_list()
    runners = [interpreter.get_signature_runner(name) for interpreter in pair]
    for length in (1, 4, 4):
        inputs = {f"{name}_{end}": rng.uniform(-1, 1, length).astype(np.float32) for end in "ba"}
        foreign, ours = (runner(**inputs) for runner in runners)
        assert list(ours) == list(foreign)
        np.testing.assert_allclose(ours[f"{name}_c"], foreign[f"{name}_c"], 1e-6)
        assert str(runners[1].get_output_details()) == str(runners[0].get_output_details())
    for wrong in ({}, {"x": 1, "y": 2}):
        for runner in runners:
            with pytest.raises(ValueError, match="(?i)input"):
                runner(**wrong)


def test_several_signatures_need_a_name() -> None:
    for interpreter in both(signatures()):
        with pytest.raises(ValueError, match="signature_key is None"):
            interpreter.get_signature_runner()


def test_a_failing_run_is_a_runtime_error(monkeypatch: pytest.MonkeyPatch) -> None:
    _, ours = both(two_steps())
    ours.allocate_tensors()

    def fail() -> None:
        raise nnapi.OpFailedError("the device is gone")

    monkeypatch.setattr(ours._main.graph, "run", fail)
    with pytest.raises(RuntimeError, match="the device is gone"):
        ours.invoke()


def test_weights_stay_codes_where_somebody_asks_for_it() -> None:
    content = CASES["dense"]()
    x = make_input(nnapi.load(content))
    found = {}
    for weights in (None, "dynamic-range"):
        interpreter = Interpreter(model_content=content, devices="nnapi-reference", weights=weights)
        interpreter.allocate_tensors()
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
        interpreter.invoke()
        found[weights] = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    np.testing.assert_allclose(found[None], found["dynamic-range"], 1e-5, 1e-5)
    with pytest.raises(nnapi.NnapiError, match="weights is 'float', must be 'dynamic-range' or None"):
        Interpreter(model_content=content, weights="float")  # type: ignore[arg-type]
