"""Graphs of which LiteRT computes partitions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.tflite_writer import Graph, T, const, write

litert = pytest.importorskip("ai_edge_litert.interpreter", reason="ai-edge-litert is not installed")
from nnapi.litert import Interpreter  # noqa: E402
from nnapi.litert.compiled_subgraph import CompiledSubgraph  # noqa: E402
from tests.litert.interpreter_cases import both, feed, needs_library, run, values  # noqa: E402
from tests.litert.model_cases import open_batch  # noqa: E402
from tests.variable_cases import running_sum  # noqa: E402


@needs_library
def test_partitions_have_the_shapes_that_litert_infers() -> None:
    x, a, b = T("FLOAT32", (2, 6)), T("FLOAT32", (2, 6)), T("FLOAT32", (1, 1), signature=(-1, -1))
    c, y = T("FLOAT32", (1, 1), signature=(-1, -1)), T("FLOAT32", (1, 1), signature=(-1, -1))
    graph = Graph().operator("RELU", [x], [a])
    graph.operator("RESHAPE", [a, const([3, 4], "INT32")], [b], "ReshapeOptions", NewShape=[3, 4])
    graph.operator("ATAN2", [b, b], [c]).operator("RELU", [c], [y])
    pair = both(write(graph.between([x], [y])), fallback=True)
    for interpreter in pair:
        interpreter.allocate_tensors()
    feed(pair)
    run(pair)
    assert "3 of 4 operators run here, in 2 partitions" in pair[1].explain()


def test_temporary_tensors_of_litert_are_not_the_file_s() -> None:
    x, y, angle = T("FLOAT32", (1, 2)), T("FLOAT32", (1, 4)), T("FLOAT32", (1, 4))
    features, times = const(np.ones((4, 2)), "FLOAT32"), const(np.ones((4, 3)), "FLOAT32")
    state = T("FLOAT32", (1, 12), variable=True)
    graph = Graph().operator("SVDF", [x, features, times, None, state], [y], "SVDFOptions", Rank=1)
    pair = both(write(graph.operator("ATAN2", [y, y], [angle]).between([x], [angle])), fallback=True)
    for interpreter in pair:
        interpreter.allocate_tensors()
    feed(pair)
    run(pair)


def test_resource_variables_outlive_resets_and_resizing() -> None:
    pair = both(write(*running_sum(start=5)))
    for interpreter in pair:
        interpreter.allocate_tensors()
    for again in ("", "reset", "allocate", "resize"):
        for interpreter in pair:
            if again == "reset":
                interpreter.reset_all_variables()
            elif again == "resize":
                interpreter.resize_tensor_input(interpreter.get_input_details()[0]["index"], [2])
            if again in ("allocate", "resize"):
                interpreter.allocate_tensors()
        for _ in range(3):
            feed(pair)
            run(pair)


def test_signatures_share_resource_variables() -> None:
    (adding, first), (reading, _) = running_sum(start=5), running_sum()
    reading.operators[:] = [each for each in reading.operators if each["kind"] != "ASSIGN_VARIABLE"]
    for graph, name in ((adding, "add"), (reading, "read")):
        graph.signature = name
        graph.operators[0]["options"] = "CallOnceOptions", {"InitSubgraphIndex": 2}
        graph.tensors = [replace(each, name=each.name or f"n{index}") for index, each in enumerate(graph.tensors)]
    runners = [
        [interpreter.get_signature_runner(name) for name in ("add", "read")]
        for interpreter in both(write(adding, reading, first))
    ]
    found = []
    for add, look in runners:
        sums = [
            runner(**{next(iter(runner.get_input_details())): np.array([1, 2], np.float32)})
            for runner in (add, add, look)
        ]
        found.append([next(iter(outputs.values())).tolist() for outputs in sums])
    assert found[0] == found[1] == [[6, 7], [7, 9], [8, 11]]


def test_both_kinds_of_variables_in_one_subgraph() -> None:
    main, first = running_sum()
    x, total = main.tensors[main.inputs[0]], main.tensors[main.outputs[0]]
    y, features, times = T("FLOAT32", (1, 4)), const(np.ones((4, 2)), "FLOAT32"), const(np.ones((4, 3)), "FLOAT32")
    row, state = T("FLOAT32", (1, 2)), T("FLOAT32", (1, 12), variable=True)
    main.operator("RESHAPE", [total, const([1, 2])], [row], "ReshapeOptions", NewShape=[1, 2])
    main.operator("SVDF", [row, features, times, None, state], [y], "SVDFOptions", Rank=1).between([x], [total, y])
    pair = both(write(main, first))
    for interpreter in pair:
        interpreter.allocate_tensors()
    for again in (False, True):
        for _ in range(4):
            feed(pair)
            run(pair)
        for interpreter in pair if not again else ():
            interpreter.reset_all_variables()


@pytest.mark.engine
@pytest.mark.shared
@pytest.mark.parametrize("name", ["okay_nabu_v2", "vad_v2", "alexa_v1"])
def test_wake_words_are_equal_to_litert_s_over_several_runs(shared: Path, name: str) -> None:
    path = str(shared / f"models-3/microwakeword_{name}.tflite")
    kernels = litert.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES  # XNNPACK rounds otherwise than the reference
    theirs = litert.Interpreter(path, experimental_op_resolver_type=kernels)
    pair = theirs, Interpreter(path, devices="nnapi-reference")
    for interpreter in pair:
        interpreter.allocate_tensors()
    found = []
    for _ in range(30):
        feed(pair, -128, 127)
        for interpreter in pair:
            interpreter.invoke()
        found.append([values(interpreter)[0].tolist() for interpreter in pair])
    assert all(first == second for first, second in found)
    assert len({str(first) for first, _ in found}) > 1


def test_inputs_of_rank_5_keep_their_shape() -> None:
    x, y = T("FLOAT32", (2, 3, 2, 4, 3)), T("FLOAT32", (2, 3, 2, 4, 3))
    pair = both(write(Graph().operator("SOFTMAX", [x], [y], "SoftmaxOptions", Beta=1.0).between([x], [y])))
    for interpreter in pair:
        interpreter.allocate_tensors()
    for _ in range(2):
        feed(pair)
        run(pair)


def test_the_number_of_largest_elements_may_be_an_input() -> None:
    x, k, values_, indices = T("FLOAT32", (3, 6)), T("INT32"), T("FLOAT32", (3, 0)), T("INT32", (3, 0))
    graph = Graph().operator("TOPK_V2", [x, k], [values_, indices], "TopKV2Options").between([x, k], [values_, indices])
    found = []
    for interpreter in both(write(graph)):
        interpreter.allocate_tensors()
        (first, second), outputs = interpreter.get_input_details(), interpreter.get_output_details()
        for count in (2, 5):
            interpreter.set_tensor(first["index"], np.arange(18, dtype=np.float32).reshape(3, 6) % 5)
            interpreter.set_tensor(second["index"], np.array(count, np.int32))
            interpreter.invoke()
            found.append([interpreter.get_tensor(each["index"]).tolist() for each in outputs])
    assert found[:2] == found[2:]
    assert [len(each[0][0]) for each in found] == [2, 5, 2, 5]


def test_a_dynamic_batch_is_loaded_as_a_file_that_is_cached(tmp_path: Path) -> None:
    (tmp_path / "open.tflite").write_bytes(open_batch())
    interpreter = Interpreter(str(tmp_path / "open.tflite"), devices="nnapi-reference")
    for rows in (1, 3):
        interpreter.resize_tensor_input(interpreter.get_input_details()[0]["index"], [rows, 3])
        interpreter.allocate_tensors()
        assert isinstance(interpreter._main.graph, CompiledSubgraph)
        model = interpreter._main.graph.compilation.model
        assert model.input_info[0].shape == (rows, 3)
        assert model.origin is not None
