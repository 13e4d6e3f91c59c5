"""The session in ONNX Runtime's place, call by call beside ONNX Runtime's own where that is installed."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import helper  # noqa: E402  # it may be missing

import nnapi.onnx as ours  # noqa: E402  # which needs it
from nnapi.contract import shape_cache  # noqa: E402
from nnapi.onnx.providers import choose  # noqa: E402
from tests.onnx.session_cases import BOOL, FLOAT, INT64, dense, rng, save, session  # noqa: E402

KEPT = 8
"""Number of compilations that a test keeps."""


def kinds() -> bytes:
    """64-bit numbers, booleans and a scalar."""
    nodes = [
        helper.make_node("Add", ["a", "b"], ["sum"]),
        helper.make_node("Less", ["a", "b"], ["less"]),
        helper.make_node("ReduceMax", ["a"], ["most"], keepdims=0),
    ]
    outputs = [("sum", INT64, [3]), ("less", BOOL, [3]), ("most", INT64, [])]
    return save(nodes, [("a", INT64, [3]), ("b", INT64, [3])], outputs)


def both(content: bytes) -> tuple[Any, Any]:
    theirs = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    return theirs.InferenceSession(content, providers=["CPUExecutionProvider"]), session(content)


def describe(ends: list[Any]) -> list[tuple[Any, ...]]:
    return [(end.name, end.type, end.shape) for end in ends]


@pytest.mark.engine
@pytest.mark.parametrize(
    ("content", "feed"),
    [
        (dense(), {"x": rng.normal(size=(2, 3)).astype(np.float32)}),
        (dense("batch"), {"x": rng.normal(size=(5, 3)).astype(np.float32)}),
        (kinds(), {"a": np.array([3, -5, 7]), "b": np.array([1, 2, 9])}),
    ],
    ids=["fixed", "open", "kinds"],
)
def test_it_describes_and_computes_what_onnx_runtime_does(content: bytes, feed: dict[str, Any]) -> None:
    theirs, mine = both(content)
    for get in ("get_inputs", "get_outputs", "get_overridable_initializers"):
        assert describe(getattr(mine, get)()) == describe(getattr(theirs, get)())
    for name in ("producer_name", "graph_name", "domain", "description", "version", "custom_metadata_map"):
        assert getattr(mine.get_modelmeta(), name) == getattr(theirs.get_modelmeta(), name)
    last = [mine.get_outputs()[-1].name]
    for names in (None, [], last):
        for a, b in zip(mine.run(names, feed), theirs.run(names, feed), strict=True):
            assert (a.dtype, np.shape(a)) == (np.asarray(b).dtype, np.shape(b))
            np.testing.assert_allclose(a, b, 1e-5, 1e-6)


MISUSES: list[tuple[str, list[str] | None, dict[str, Any]]] = [
    ("InvalidArgument", None, {"x": np.zeros((2, 3))}),
    ("InvalidArgument", None, {"x": np.zeros((2, 4), np.float32)}),
    ("InvalidArgument", None, {"x": np.zeros((2, 3, 1), np.float32)}),
    ("InvalidArgument", None, {"x": np.zeros((2, 3), np.float32), "z": np.zeros(1)}),
    ("InvalidArgument", ["z"], {"x": np.zeros((2, 3), np.float32)}),
    ("ValueError", None, {"z": np.zeros((2, 3), np.float32)}),
]


@pytest.mark.engine
@pytest.mark.parametrize(("name", "outputs", "feed"), MISUSES)
def test_what_does_not_fit_is_refused_by_the_same_name(name: str, outputs: Any, feed: dict[str, Any]) -> None:
    for each in both(dense()):
        with pytest.raises(Exception, match=r"\w") as caught:
            each.run(outputs, feed)
        assert type(caught.value).__name__ == name


@pytest.mark.parametrize(
    ("source", "failure"), [("/no/such.onnx", ours.NoSuchFile), (b"\xff\xff\xff", ours.InvalidProtobuf)]
)
def test_what_is_no_model_is_refused(source: str | bytes, failure: type[Exception]) -> None:
    with pytest.raises(failure):
        ours.InferenceSession(source)


def test_what_nnapi_cannot_express_is_named() -> None:
    nodes = [helper.make_node("RandomNormalLike", ["x"], ["y"])]
    with pytest.raises(ours.NotImplemented, match="RandomNormalLike"):
        session(save(nodes, [("x", INT64, [3])], [("y", INT64, [3])]))


def test_each_shape_is_compiled_once_and_the_latest_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shape_cache, "MOST_BYTES", (KEPT << 20) + (1 << 16))
    monkeypatch.setattr(shape_cache, "OVERHEAD", 1 << 20)
    mine = session(dense("batch"))
    for rows in (*range(1, 2 * KEPT + 5, 2), 1):
        assert mine.run(None, {"x": np.ones((rows, 3), np.float32)})[0].shape == (rows, 4)
        mine.run(None, {"x": np.ones((rows, 3), np.float32)})
    assert len(mine._specializations) == KEPT
    assert "inputs [1, 3]" in mine.explain()


def test_it_is_freed_without_a_garbage_collection() -> None:
    made = session(dense())
    feed = {
        each.name: np.ones([size if isinstance(size, int) else 1 for size in each.shape], np.float32)
        for each in made.get_inputs()
    }
    gc.disable()
    try:
        made.run(None, feed)
        alive = weakref.ref(made), weakref.ref(next(iter(made._specializations._made.values())).compilation)
        del made
        assert [each() for each in alive] == [None, None]
    finally:
        gc.enable()


def test_dimensions_are_fixed_by_their_names() -> None:
    options = ours.SessionOptions()
    options.add_free_dimension_override_by_name("batch", 6)
    options.intra_op_num_threads = 1
    mine = session(dense("batch"), sess_options=options)
    assert mine.get_inputs()[0].shape == [6, 3]
    assert mine.get_session_options() is options
    with pytest.raises(ours.InvalidArgument, match="of shape .6, 3., not .2, 3."):
        mine.run(None, {"x": np.zeros((2, 3), np.float32)})


@pytest.mark.parametrize("threads", [-1, 50000])
@pytest.mark.parametrize("rows", [2, "batch"])
def test_threads_have_limits(threads: int, rows: int | str) -> None:
    options = ours.SessionOptions(intra_op_num_threads=threads)
    with pytest.raises(ours.InvalidArgument, match=f"intra_op_num_threads is {threads}, must be from 1 to 1024"):
        session(dense(rows), sess_options=options)


def test_an_option_that_does_not_exist_is_refused() -> None:
    with pytest.raises(AttributeError):
        ours.SessionOptions().intra_op_threads = 3  # type: ignore[attr-defined]


def test_numbers_beyond_32_bits_are_refused() -> None:
    with pytest.raises(ours.InvalidArgument, match="a holds integers beyond int32"):
        session(kinds()).run(None, {"a": np.full(3, 1 << 40), "b": np.zeros(3, np.int64)})


def test_threads_share_a_session() -> None:
    mine, x = session(dense("batch")), rng.normal(size=(4, 3)).astype(np.float32)
    (expected,) = mine.run(None, {"x": x})
    with ThreadPoolExecutor(4) as pool:
        for (given,) in pool.map(lambda _: mine.run(None, {"x": x}), range(20)):
            np.testing.assert_array_equal(given, expected)


@pytest.mark.engine
def test_bound_inputs_and_outputs() -> None:
    x = rng.normal(size=(2, 3)).astype(np.float32)
    for module, each in zip((pytest.importorskip("onnxruntime"), ours), both(dense()), strict=True):
        (expected,) = each.run(None, {"x": x})
        held, target = module.OrtValue.ortvalue_from_numpy(x.copy()), np.zeros((2, 4), np.float32)
        binding = each.io_binding()
        binding.bind_ortvalue_input("x", held)
        binding.bind_output("y", "cpu", 0, np.float32, [2, 4], target.ctypes.data)
        each.run_with_iobinding(binding)
        np.testing.assert_array_equal(target, expected)
        assert binding.get_outputs()[0].shape() == [2, 4]
        assert (held.data_type(), held.device_name(), held.element_type()) == ("tensor(float)", "cpu", FLOAT)
        assert held.tensor_size_in_bytes() == 24
        held.update_inplace(2 * x)
        binding.clear_binding_outputs()
        binding.bind_output("y")
        each.run_with_iobinding(binding)
        np.testing.assert_allclose(binding.copy_outputs_to_cpu()[0] - 1, 2 * (expected - 1), 1e-5)
        binding.clear_binding_inputs()
        binding.bind_input("x", "cpu", 0, np.float32, x.shape, x.ctypes.data)
        made = module.OrtValue.ortvalue_from_shape_and_type([2, 4], np.float32)
        binding.bind_ortvalue_output("y", made)
        each.run_with_iobinding(binding)
        np.testing.assert_array_equal(made.numpy(), expected)


def test_element_types_are_bound_by_their_onnx_numbers() -> None:
    x, y = np.ones((2, 3), np.float32), np.zeros((2, 4), np.float32)
    mine = session(dense())
    binding = mine.io_binding()
    binding.bind_input("x", "cpu", 0, FLOAT, [2, 3], x.ctypes.data)
    binding.bind_output("y", "cpu", 0, FLOAT, [2, 4], y.ctypes.data)
    mine.run_with_iobinding(binding)
    np.testing.assert_array_equal(y, mine.run(None, {"x": x})[0])
    assert ours.OrtValue.ortvalue_from_shape_and_type([2], INT64).numpy().dtype == np.int64
    with pytest.raises(ours.InvalidArgument, match="element type 99 is not one that NNAPI has"):
        binding.bind_input("x", "cpu", 0, 99, [2, 3], x.ctypes.data)


def test_a_vector_of_values_is_run() -> None:
    mine, x = session(dense()), np.ones((2, 3), np.float32)
    mine.disable_fallback()
    feeds, fetches = ours.OrtValueVector(), ours.OrtValueVector()
    feeds.push_back(ours.OrtValue.ortvalue_from_numpy(x))
    mine.run_with_ortvaluevector(None, ["x"], feeds, ["y"], fetches, [ours.OrtDevice.make("cpu", 0)])
    mine.enable_fallback()
    np.testing.assert_array_equal(fetches[0].numpy(), mine.run(None, {"x": x})[0])
    assert [info.name for info in (*mine.get_input_memory_infos(), *mine.get_output_memory_infos())] == ["Cpu"] * 2


def test_memory_that_is_not_the_host_s_is_refused() -> None:
    with pytest.raises(ours.InvalidArgument, match="memory of device type cuda"):
        ours.OrtValue.ortvalue_from_numpy(np.zeros(1), "cuda", 0)
    with pytest.raises(ours.InvalidArgument, match=r"tensor\(double\) \[2\] does not fit into tensor\(float\) \[2\]"):
        ours.OrtValue.ortvalue_from_numpy(np.zeros(2, np.float32)).update_inplace(np.zeros(2))


def absolute() -> bytes:
    """Two open dimensions: one with a meaning, one with a name."""
    x = helper.make_tensor_value_info("x", FLOAT, [None, "columns"], shape_denotation=["DATA_BATCH", ""])
    y = helper.make_tensor_value_info("y", FLOAT, [None, "columns"])
    graph = helper.make_graph([helper.make_node("Abs", ["x"], ["y"])], "graph", [x], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    return bytes(model.SerializeToString())


def test_dimensions_are_fixed_by_what_they_mean() -> None:
    options = ours.SessionOptions()
    options.add_free_dimension_override_by_denotation("DATA_BATCH", 4)
    options.add_free_dimension_override_by_name("columns", 2)
    fixed = session(absolute(), sess_options=options)
    assert fixed.get_inputs()[0].shape == [4, 2]
    np.testing.assert_array_equal(fixed.run(None, {"x": np.full((4, 2), -1, np.float32)})[0], 1)
    with pytest.raises(ours.InvalidArgument, match="of shape"):
        fixed.run(None, {"x": np.zeros((3, 2), np.float32)})


@pytest.mark.engine
@pytest.mark.parametrize("add", ["add_initializer", "add_external_initializers"])
def test_constants_are_replaced(add: str) -> None:
    theirs = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    content, bias, x = dense(), np.full(4, 7, np.float32), np.ones((2, 3), np.float32)
    results = []
    for module, provider in ((theirs, "CPUExecutionProvider"), (ours, "nnapi-reference")):
        options, value = module.SessionOptions(), module.OrtValue.ortvalue_from_numpy(bias)
        if add == "add_initializer":
            options.add_initializer("b", value)
        elif module is theirs:
            options.add_initializer("b", value)  # the other way it takes those alone that lie in other files
        else:
            options.add_external_initializers(["b"], [value])
        results.append(module.InferenceSession(content, options, [provider]).run(None, {"x": x})[0])
    np.testing.assert_allclose(results[1], results[0], 1e-5)


def test_a_constant_of_another_shape_is_refused() -> None:
    options = ours.SessionOptions()
    options.add_initializer("b", ours.OrtValue.ortvalue_from_numpy(np.ones(3, np.float32)))
    with pytest.raises(ours.InvalidArgument, match=r"b is tensor\(float\) \[4\], the given value is .* \[3\]"):
        session(dense(), sess_options=options)


def test_the_model_is_written_as_it_is_here(tmp_path: Path) -> None:
    options = ours.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    content, feed = dense("batch"), {"x": np.ones((3, 3), np.float32)}
    before = session(content, sess_options=options).run(None, feed)[0]
    (after,) = session((tmp_path / "optimized.onnx").read_bytes()).run(None, feed)
    np.testing.assert_allclose(after, before, 1e-6)


def test_a_model_that_depends_on_dynamic_dimensions_is_written_as_it_is_in_the_file(tmp_path: Path) -> None:
    options = ours.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    nodes = [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("ConstantOfShape", ["s"], ["y"])]
    content = save(nodes, [("x", FLOAT, ["n", "m"])], [("y", FLOAT, ["n", "m"])])
    session(content, sess_options=options)
    written = onnx.load(tmp_path / "optimized.onnx")
    assert [node.op_type for node in written.graph.node] == ["Shape", "ConstantOfShape"]


def test_constants_are_written_beside_the_model(tmp_path: Path) -> None:
    for _ in range(2):  # the second time in the place of the first
        options, path = ours.SessionOptions(), tmp_path / "optimized.onnx"
        options.optimized_model_filepath = str(path)
        options.add_session_config_entry("session.optimized_model_external_initializers_file_name", "constants.bin")
        options.add_session_config_entry("session.optimized_model_external_initializers_min_size_in_bytes", "20")
        content, feed = dense(), {"x": np.ones((2, 3), np.float32)}
        before = session(content, sess_options=options).run(None, feed)[0]
        assert (tmp_path / "constants.bin").stat().st_size >= 48
        (after,) = ours.InferenceSession(path, providers=["nnapi-reference"]).run(None, feed)
        np.testing.assert_allclose(after, before, 1e-6)


def test_entries_are_kept() -> None:
    options, run_options = ours.SessionOptions(), ours.RunOptions()
    options.add_session_config_entry("key", "value")
    run_options.add_run_config_entry("key", "other")
    assert (options.get_session_config_entry("key"), run_options.get_run_config_entry("key")) == ("value", "other")
    with pytest.raises(RuntimeError, match="SessionOptions does not have configuration with key: none"):
        options.get_session_config_entry("none")
    with pytest.raises(RuntimeError, match="RunOptions does not have configuration with key: none"):
        run_options.get_run_config_entry("none")


def test_providers_are_changed_later() -> None:
    changing = session(dense())
    with pytest.raises(RuntimeError, match="Unknown Provider Type: NoSuchProvider"):
        changing.set_providers(["NoSuchProvider"])
    assert changing.get_providers() == ["nnapi-reference"]
    changing.set_providers(["CPUExecutionProvider"])
    assert changing.get_provider_options() == {"CPUExecutionProvider": {}}
    changing.set_providers(["nnapi-reference"])
    assert changing.run(None, {"x": np.ones((2, 3), np.float32)})[0].shape == (2, 4)
    assert "nnapi-reference" in changing.explain()


def test_a_run_calls_back(monkeypatch: pytest.MonkeyPatch) -> None:
    told: Queue[tuple[Any, ...]] = Queue()
    one, feed = session(dense()), {"x": np.ones((2, 3), np.float32)}
    one.run_async(["y"], feed, lambda *given: told.put(given), "mine")
    results, data, failure = told.get(timeout=120)
    assert (results[0].shape, data, failure) == ((2, 4), "mine", "")
    with pytest.raises(ValueError, match="Required inputs"):
        one.run_async(None, {}, lambda *given: None, None)

    def fail(*_: Any) -> None:
        raise ours.Fail("the device is gone")

    monkeypatch.setattr(one, "run", fail)
    one.run_async(None, feed, lambda *given: told.put(given), None)
    assert told.get(timeout=120) == ([], None, "the device is gone")


def test_values_go_in_and_come_out() -> None:
    value = ours.OrtValue.ortvalue_from_numpy(np.ones((2, 3), np.float32))
    (result,) = session(dense()).run_with_ort_values(["y"], {"x": value})
    assert result.shape() == [2, 4]


def test_providers_are_devices() -> None:
    assert choose(None).devices is None
    assert choose(["CPUExecutionProvider"]) == (["CPUExecutionProvider"], None)
    assert choose([("nnapi-reference", {"x": 1})]) == (["nnapi-reference"], ["nnapi-reference"])
    with pytest.warns(UserWarning, match="the provider 'CUDAExecutionProvider' is unknown; known are nnapi-reference"):
        assert choose(["CUDAExecutionProvider", "CPUExecutionProvider"]).devices is None
    assert session(dense()).get_providers() == ["nnapi-reference"]
    assert ours.get_available_providers()[-1] == ours.get_all_providers()[-1] == "CPUExecutionProvider"


def test_devices_that_must_be_named_are_not_available_providers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nnapi.runtime.device.Device.is_by_name", True)
    assert ours.get_available_providers() == ["CPUExecutionProvider"]
    assert choose(["nnapi-reference"]).devices == ["nnapi-reference"]


def test_the_version_is_that_of_the_interface() -> None:
    assert ours.__version__ == ours.get_version_string() == "1.23.0"


@pytest.mark.slow
def test_a_program_for_onnx_runtime_runs_unchanged(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(dense())
    (tmp_path / "program.py").write_text(
        "import importlib.util, sys, numpy, onnxruntime as ort\n"
        "assert importlib.util.find_spec('onnxruntime').name == 'onnxruntime'\n"
        "from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument\n"
        "assert ort.__version__ == ort.get_version_string()\n"
        "ort.set_default_logger_severity(3)\n"
        "session = ort.InferenceSession(sys.argv[1])\n"
        "try:\n    session.run(None, {'x': numpy.zeros(1, 'f4')})\n"
        "except InvalidArgument:\n    print(type(session).__module__)\n"
    )
    command = [sys.executable, "-m", "nnapi.onnx", "program.py", "model.onnx"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=dict(os.environ), check=False)
    assert ran.stdout == "nnapi.onnx.session\n", ran.stderr
