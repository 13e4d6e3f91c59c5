"""The delegate that LiteRT loads: what it takes of graphs, what comes out, and what it survives."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nnapi.codes import OperationCode
from nnapi.contract import shape_cache
from nnapi.model.borrowed_memory import hold
from nnapi.model.model import Model, constants
from nnapi.runtime.compilation import Compilation
from nnapi.runtime.device import Device
from nnapi.trace import recording
from tests.tflite_writer import Graph, T, const, f32, i32, s8, single, write

cases = pytest.importorskip("tests.delegate.delegate_cases", reason="ai-edge-litert is not installed")
from nnapi.delegate.compiled import CompiledPartition  # noqa: E402  # it needs the bridge, as the cases do
from nnapi.delegate.settings import DelegateSettings  # noqa: E402

pytestmark = cases.pytestmark


def test_a_whole_graph_is_one_node() -> None:
    pair = cases.both(cases.convolution())
    cases.run(pair)
    cases.run(pair)
    assert pair[1]._interpreter.NodeName(2) == "DELEGATE"


def test_what_is_not_taken_stays_with_its_reason(tmp_path: Path) -> None:
    pair, described = cases.explain(tmp_path, cases.in_the_middle())
    cases.run(pair)
    assert "2 of 3 operators run here, in 2 partitions" in described
    assert "left to LiteRT: ATAN2: NNAPI has no inverse trigonometric function" in described
    assert "nnapi-reference" in described


def test_constants_are_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    from nnapi.delegate import delegate as room
    from nnapi.delegate.partition import convert

    seen: list[bool] = []

    def watch(graph: Any, subset: Any) -> Any:
        model = convert(graph, subset)
        memory = np.frombuffer(graph.content, np.uint8)
        constants = [operand.value for operand in model.operands if isinstance(operand.value, np.ndarray)]
        seen.extend(np.may_share_memory(memory, array) for array in constants if array.size > 3)
        return model

    monkeypatch.setattr(room, "convert", watch)
    cases.both(cases.convolution(channels=16))
    assert seen == [True, True]


class WithoutMul:
    """An engine that takes everything but multiplications."""

    name = "engine"

    def supports(self, model: Any) -> list[bool]:
        return [call.code != OperationCode.MUL for call in model.operations]


def test_devices_that_must_be_named_are_no_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = DelegateSettings({})
    monkeypatch.setattr(Device, "is_by_name", True)
    assert settings.list_engines() == []


def test_what_only_the_reference_takes_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DelegateSettings, "list_engines", lambda settings: [WithoutMul()])
    x, y, z = f32(2, 3), f32(2, 3), f32(2, 3)
    graph = Graph().operator("MUL", [x, x], [y], "MulOptions").operator("ADD", [y, x], [z], "AddOptions")
    pair, described = cases.explain(tmp_path, write(graph.between([x], [z])))
    cases.run(pair)
    assert "1 of 2 operators run here" in described
    assert "left to LiteRT: MUL: of all devices only the reference takes it" in described


def test_small_partitions_between_litert_s_operators_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DelegateSettings, "list_engines", lambda settings: [WithoutMul()])
    pair, described = cases.explain(tmp_path, cases.in_the_middle())
    cases.run(pair)
    assert "0 of 3 operators run here" in described
    assert "left to LiteRT: MUL ×2: the call of so small a partition costs more than LiteRT's kernels" in described


def test_inputs_are_resized() -> None:
    x, y = f32(2, 3), f32(2, 3)
    pair = cases.both(single("RELU", [x], y))
    cases.run(pair)
    resize(pair, [5, 3])
    assert cases.run(pair)[0].shape == (5, 3)


def with_state(steps: int = 2, units: int = 4, memory: int = 3) -> bytes:
    weights = np.random.default_rng(1)
    x, y = f32(1, steps), f32(1, units)
    features = f32(units, steps).of(weights.uniform(-1, 1, (units, steps)).astype(np.float32))
    times = f32(units, memory).of(weights.uniform(-1, 1, (units, memory)).astype(np.float32))
    state = T("FLOAT32", (1, units * memory), variable=True)
    return single("SVDF", [x, features, times, None, state], y, "SVDFOptions", Rank=1)


def test_state_lasts_until_it_is_reset() -> None:
    pair = cases.both(with_state())
    (first,) = cases.run(pair)
    (second,) = cases.invoke(pair)
    assert not np.array_equal(first, second)
    cases.run(pair)  # other inputs, with the state of two runs
    cases.run(pair)


def test_state_that_is_reset_begins_anew() -> None:
    pair = cases.both(with_state())
    cases.run(pair)
    (before,) = cases.run(pair)
    for runs in (1, 2, 3):
        for interpreter in pair:
            interpreter.reset_all_variables()
        (first,) = cases.invoke(pair)
        assert not np.array_equal(first, before)
        for _ in range(runs):
            cases.run(pair)


def test_64_bits_are_taken_as_32() -> None:
    x, y = T("INT64", (2, 3)), T("INT64", (2, 3))
    pair = cases.both(single("ADD", [x, const([[1, 2, 3]], "INT64")], y, "AddOptions"))
    cases.run(pair)
    interpreter = pair[1]
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], np.full((2, 3), 1 << 40))
    with pytest.raises(RuntimeError, match="holds integers beyond int32"):
        interpreter.invoke()
    cases.run(pair)


@pytest.mark.parametrize("is_whole", [False, True])
def test_complex_numbers_stay_within_a_partition(is_whole: bool, tmp_path: Path) -> None:
    x, y = f32(2, 1, 8), f32(2, 1, 5)
    spectrum, out = T("COMPLEX64", (2, 1, 5)), f32(2, 1, 5)
    graph = Graph().operator("ADD", [x, x], [moved := f32(2, 1, 8)], "AddOptions")
    graph.operator("RFFT2D", [moved, const([1, 8])], [spectrum])
    if is_whole:
        graph.operator("COMPLEX_ABS", [spectrum], [y]).operator("ADD", [y, y], [out], "AddOptions")
    pair, described = cases.explain(tmp_path, write(graph.between([x], [out if is_whole else spectrum])))
    for interpreter in pair:
        interpreter.set_tensor(0, np.arange(16, dtype=np.float32).reshape(2, 1, 8))
        interpreter.invoke()
    theirs, ours = map(cases.values, pair)
    np.testing.assert_allclose(ours[0], theirs[0], 1e-5, 1e-5)
    assert ("4 of 4 operators run here" in described) == is_whole
    reason = "RFFT2D: it exchanges complex numbers with LiteRT"
    assert (reason in described) != is_whole


def test_codes_are_exact() -> None:
    cases.run(cases.both(single("TANH", [s8(1, 4)], s8(1, 4, scale=1 / 128, zero_point=0))))


def test_an_input_that_is_read_twice(tmp_path: Path) -> None:
    x = s8(1, 4)
    pair, described = cases.explain(tmp_path, single("MAXIMUM", [x, x], s8(1, 4)))
    cases.run(pair)
    assert "1 of 1 operators run here" in described


def test_several_outputs_and_inputs_that_are_outputs() -> None:
    x, a, b = f32(2, 4), f32(2, 2), f32(2, 2)
    graph = Graph().operator("SPLIT", [const(1), x], [a, b], "SplitOptions", NumSplits=2)
    cases.run(cases.both(write(graph.between([x], [b, a]))))


def dynamic() -> bytes:
    """Two operators of ours, and between them one whose result has the shape that another input gives."""
    x, shape, y, z, w = f32(2, 6), i32(2), f32(2, 6), f32(1, 1), f32(1, 1)
    graph = Graph().operator("RELU", [x], [y]).operator("RESHAPE", [y, shape], [z]).operator("EXP", [z], [w])
    return write(graph.between([x, shape], [w]))


def test_shapes_that_only_a_run_determines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """LiteRT's operators give them; the partitions behind those are compiled once for each."""
    pair, described = cases.explain(tmp_path, dynamic())
    assert "2 of 3 operators run here" in described
    assert "left to LiteRT: RESHAPE: the shape of its result is known only when it runs" in described
    compiled: list[Model] = []
    compile = DelegateSettings.compile

    def note(self: DelegateSettings, model: Model, threads: int | None) -> Compilation:
        compiled.append(model)
        return compile(self, model, threads)

    monkeypatch.setattr(DelegateSettings, "compile", note)
    for rows in (2, 4, 2, 4):
        resize(pair, [rows, 6])
        for interpreter in pair:
            x, shape = (detail["index"] for detail in interpreter.get_input_details())
            interpreter.set_tensor(x, np.linspace(-3, 3, 6 * rows, dtype=np.float32).reshape(rows, 6))
            interpreter.set_tensor(shape, np.array([3, 2 * rows], np.int32))
        assert cases.invoke(pair)[0].shape == (3, 2 * rows)
    assert len(compiled) == 3


@pytest.mark.parametrize(("most", "kept"), [(1 << 30, 11), (8 << 20, 7)])
def test_compilations_stay_up_to_a_size(monkeypatch: pytest.MonkeyPatch, most: int, kept: int) -> None:
    gc.collect()  # interpreters of other tests, whose partitions would be counted
    closed: list[object] = []
    monkeypatch.setattr(CompiledPartition, "close", lambda compiled: closed.append(compiled))
    monkeypatch.setattr(shape_cache, "MOST_BYTES", most)
    pair = cases.both(single("RELU", [f32(2, 3)], f32(2, 3)))
    for rows in range(1, 12):
        resize(pair, [rows, 3])
        assert cases.run(pair)[0].shape == (rows, 3)
    assert len(closed) == 11 - kept


def test_weights_of_float_operators_stay_quantized(monkeypatch: pytest.MonkeyPatch) -> None:
    """LiteRT computes these on quantized inputs too."""
    compiled: list[bool] = []
    compile = DelegateSettings.compile

    def note(self: DelegateSettings, model: Model, threads: int | None) -> Compilation:
        compiled.append(model.dynamic_range)
        return compile(self, model, threads)

    monkeypatch.setattr(DelegateSettings, "compile", note)
    weights = T("INT8", (3, 2), scale=0.5).of(np.arange(6, dtype=np.int8).reshape(3, 2))
    x, y = f32(1, 2), f32(1, 3)
    cases.both(single("FULLY_CONNECTED", [x, weights, None], y, "FullyConnectedOptions"))
    cases.both(cases.convolution())
    assert compiled == [True, False]


def resize(pair: Sequence[Any], shape: list[int]) -> None:
    for interpreter in pair:
        interpreter.resize_tensor_input(interpreter.get_input_details()[0]["index"], shape)
        interpreter.allocate_tensors()


def test_shapes_that_a_claimed_operator_does_not_take() -> None:
    x, y = f32(2, 3), f32(6)
    pair = cases.both(single("RESHAPE", [x, const([6])], y))
    with pytest.raises(RuntimeError, match=r"the claimed operators do not take .* \[4, 3\]: .*RESHAPE"):
        resize(pair[1:], [4, 3])
    resize(pair, [3, 2])
    cases.run(pair)


def test_operators_that_litert_lacks(tmp_path: Path) -> None:
    """MediaPipe's, of which LiteRT's XNNPACK delegate computes some."""
    x, shape = f32(1, 4, 4, 2), (1, 2, 2, 2)
    values, indices = T("FLOAT32", shape), T("FLOAT32", shape)
    options = np.array([2, 2, 2, 2, 2, 0], np.int32).tobytes()
    graph = Graph().operator("CUSTOM:MaxPoolingWithArgmax2D", [x], [values, indices], custom=options)
    file = tmp_path / "explained.txt"
    delegate = cases.load(explain=file)
    content = write(graph.between([x], [values, indices]))
    interpreter = cases.litert.Interpreter(model_content=content, experimental_delegates=[delegate])
    interpreter.allocate_tensors()
    given = np.random.default_rng(1).permutation(32).astype(np.float32).reshape(1, 4, 4, 2)
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], given)
    interpreter.invoke()
    expected = given.reshape(1, 2, 2, 2, 2, 2).max((2, 4))
    np.testing.assert_array_equal(cases.values(interpreter)[0], expected)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"devices": "toaster"}, "toaster"),
        ({"device": "nnapi-reference"}, "no option device; there are devices"),
        ({"threads": "many"}, "must be a number"),
        ({"num_threads": "50000"}, "threads is 50000, must be from 1 to 1024"),
    ],
)
def test_options_that_are_none(options: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        cases.load(**options)


def test_threads_have_interpreters_of_their_own() -> None:
    content, failures = cases.convolution(), list[BaseException]()

    def work() -> None:
        try:
            pair = cases.both(content)
            for _ in range(5):
                cases.run(pair)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_parts_are_given_back() -> None:
    from nnapi.delegate import calls

    gc.collect()
    before = len(calls._parts), len(calls._delegates)
    pair = cases.both(cases.in_the_middle())
    cases.run(pair)
    assert len(calls._parts) == before[0] + 2
    del pair
    gc.collect()
    assert (len(calls._parts), len(calls._delegates)) == before


PROGRAM = """
import os, sys
import numpy as np
from ai_edge_litert.interpreter import Interpreter, load_delegate
from nnapi.litert import delegate_path
delegate = load_delegate(delegate_path(), {"devices": "nnapi-reference"})
interpreter = Interpreter(sys.argv[1], experimental_delegates=[delegate])
interpreter.allocate_tensors()
index = interpreter.get_input_details()[0]["index"]
interpreter.set_tensor(index, np.ones((1, 8, 8, 2), np.float32))
def answer():
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
before = answer()
child = os.fork()
if not child:
    os._exit(0 if np.array_equal(answer(), before) else 1)
assert os.waitpid(child, 0)[1] == 0
assert np.array_equal(answer(), before)
print("done")
"""
"""A program that forks, and ends with everything alive."""


@pytest.mark.slow
def test_forks_and_exits(tmp_path: Path) -> None:
    model = tmp_path / "model.tflite"
    model.write_bytes(cases.convolution())
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(model)], capture_output=True, text=True, env=os.environ)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def test_nothing_reads_constants_once_the_interpreter_is_freed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that prepares the model for other devices has copied them, or does not begin."""
    compiled: list[Model] = []
    compile = DelegateSettings.compile

    def note(self: DelegateSettings, model: Model, threads: int | None) -> Compilation:
        compiled.append(model)
        return compile(self, model, threads)

    monkeypatch.setattr(DelegateSettings, "compile", note)
    pair = cases.both(cases.convolution())
    cases.run(pair)
    (model,) = compiled
    held = hold(model)
    assert held is not None
    for mine, theirs in zip(constants(held), constants(model), strict=True):
        assert np.array_equal(mine, theirs)
        assert not np.shares_memory(mine, theirs)
    del pair
    gc.collect()
    assert hold(model) is None


def test_a_trace_is_read_after_the_interpreter_is_freed(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine's sections within a call are measured later, with a new model: the constants are gone by then."""
    pytest.importorskip("nnapi.drivers.openvino.api", reason="OpenVINO is an extra: nnapi[openvino]")
    from nnapi.drivers.openvino import OpenVinoDriver

    engine = Device(OpenVinoDriver(threads=1))
    monkeypatch.setattr("nnapi.delegate.settings.device", lambda name: engine)
    with recording() as recorder:
        pair = cases.both(cases.convolution(), devices="openvino-cpu")
        cases.run(pair)
    del pair
    gc.collect()
    names = [span.label.name for span in recorder.spans()]
    assert "OpenVINO" in names
    assert "the memory of its constants was freed" in caplog.text
