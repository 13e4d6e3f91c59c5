"""Engines behind one face: each gives what the file says, alone and several at a time."""

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi.report import engines
from nnapi.report.engines import (
    Engine,
    LiteRT,
    Nnapi,
    OnnxRuntime,
    OpenVINO,
    UnsuitableError,
    command,
    describe,
    load_saved,
    revive,
    save,
)

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits_quant.tflite"
SCAN = np.zeros((1, 8, 8, 1), np.int8)
ALL = [Nnapi(), LiteRT(), OpenVINO(), OnnxRuntime()]


def usable(engine: Engine) -> Engine:
    try:
        engine.version()
    except ImportError as error:
        pytest.skip(str(error))
    return engine


@pytest.mark.parametrize(
    "engine",
    [*ALL, Nnapi(("x", "y")), Nnapi(None, "dynamic-range", "bfloat16")],
    ids=lambda engine: engine.name,
)
def test_there_and_back(engine: Engine) -> None:
    assert revive(describe(engine)) == engine


def test_names() -> None:
    assert [engine.name for engine in ALL] == ["nnapi", "litert", "openvino", "onnxruntime"]  # type: ignore[attr-defined]
    assert Nnapi(("x", "y")).name == "nnapi x+y"


@pytest.mark.engine
@pytest.mark.parametrize("engine", ALL[:3], ids=lambda engine: engine.name)
def test_runs(engine: Engine) -> None:
    first, second = usable(engine).open(DIGITS, 1).prepare(2)
    (one,), (two,) = first([SCAN]), second([SCAN])
    (expected,) = ALL[0].open(DIGITS, 1).prepare(1)[0]([SCAN])  # type: ignore[attr-defined]
    assert (one.shape, one.dtype) == ((1, 10), np.int8)
    assert np.abs(one.astype(int) - expected).max() <= 1
    np.testing.assert_array_equal(one, two)
    one[:] = 5  # outputs are the caller's
    np.testing.assert_array_equal(first([SCAN])[0], two)


def test_ours_names_its_devices() -> None:
    opened = Nnapi(("nnapi-reference",)).open(DIGITS, 1)
    opened.prepare(1)
    assert opened.devices() == ["nnapi-reference"]


@pytest.mark.engine
@pytest.mark.parametrize("engine", ALL[1:3], ids=lambda engine: engine.name)
def test_a_file_that_is_no_model(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "bad.tflite").write_bytes(b"nothing at all" * 20)
    with pytest.raises(UnsuitableError):
        usable(engine).open(tmp_path / "bad.tflite", 1).prepare(1)


def test_what_an_engine_says_is_told_short() -> None:
    told = "Exception from src/core.cpp:84:\nFrontEnd API failed:\n  axis 3 is out of range  \n\n"
    assert engines._message(RuntimeError(told)) == "axis 3 is out of range"
    assert engines._message(RuntimeError()) == "RuntimeError"
    assert len(engines._message(RuntimeError("x" * 5000))) == 241


def test_onnx_must_lie_beside() -> None:
    with pytest.raises(UnsuitableError, match=r"digits_quant\.onnx does not exist beside the model"):
        OnnxRuntime().open(DIGITS, 1)


def script(tmp_path: Path, engine: Engine, array: np.ndarray) -> dict[str, object]:
    save(tmp_path / "in.npy", [array])
    arguments = command(engine, DIGITS, tmp_path / "in.npy", 1)
    done = subprocess.run(arguments, capture_output=True, text=True, check=True)
    told: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return told


def test_arrays_are_kept_as_they_are(tmp_path: Path) -> None:
    arrays = [SCAN, np.float32(3).reshape(()), np.zeros((2, 0), np.int64)]
    save(tmp_path / "in.npy", arrays)  # type: ignore[arg-type]
    for kept, array in zip(load_saved(tmp_path / "in.npy"), arrays, strict=True):
        assert kept.dtype == array.dtype  # type: ignore[attr-defined]
        np.testing.assert_array_equal(kept, array)


def test_a_process_of_its_own_imports_nothing_large(tmp_path: Path) -> None:
    executable, *options, code, folder = command(LiteRT(), DIGITS, tmp_path / "in.npy", 1)[:5]
    code = code.partition("main(")[0] + "print(*sys.modules)"
    done = subprocess.run([executable, *options, code, folder], capture_output=True, text=True, check=True)
    assert not {"nnapi", "pathlib", "importlib.metadata", "zipfile"} & set(done.stdout.split())


@pytest.mark.slow
def test_a_process_of_its_own_tells_its_peak(tmp_path: Path) -> None:
    peak = script(tmp_path, ALL[0], SCAN)["peak"]  # type: ignore[arg-type]
    assert isinstance(peak, int)
    assert 15e6 < peak < 500e6


@pytest.mark.slow
def test_a_process_of_its_own_tells_what_is_wrong(tmp_path: Path) -> None:
    assert "cannot take an array of shape [1, 3, 3, 1]" in str(
        script(tmp_path, ALL[0], np.zeros((1, 3, 3, 1), np.int8))["reason"]  # type: ignore[arg-type]
    )


def test_onnx_runtime_is_given_the_types_of_its_file(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    ends = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.INT64, [3]) for name in "xy"]
    graph = onnx.helper.make_graph([onnx.helper.make_node("Abs", ["x"], ["y"])], "g", [ends[0]], [ends[1]])
    proto = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    onnx.save_model(proto, tmp_path / "words.onnx")
    (run,) = usable(OnnxRuntime()).open(tmp_path / "words.onnx", 1).prepare(1)
    (found,) = run([np.array([-1, 0, 2], np.int32)])
    assert found.tolist() == [1, 0, 2]


def test_litert_is_given_booleans_and_other_shapes(tmp_path: Path) -> None:
    engine = usable(LiteRT())
    b = nnapi.Builder()
    x, y = (b.input(nnapi.tensor("bool8", (0, 2)), name=name) for name in "xy")
    b.output(b.logical_and(x, y))
    nnapi.export(b.finish(), path := tmp_path / "and.tflite")
    (run,) = engine.open(path, 1).prepare(1)
    for rows in (1, 3, 1):
        truth = np.arange(2 * rows, dtype=np.uint8).reshape(rows, 2) % 2
        np.testing.assert_array_equal(run([truth, np.ones_like(truth)])[0], truth.astype(bool))


def test_nnapi_is_given_16_bits_as_the_32_of_its_model(tmp_path: Path) -> None:
    pytest.importorskip("onnx", reason="onnx is an extra: nnapi[onnx]")
    b, type = nnapi.Builder(), nnapi.tensor("quant16_asymm", (2,), 0.125)
    b.output(b.cast(b.input(type), out=type))
    nnapi.export(b.finish(), path := tmp_path / "cast.onnx")
    (run,) = Nnapi(("nnapi-reference",)).open(path, 1).prepare(1)
    assert run([np.array([1, 65535], np.uint16)])[0].tolist() == [1, 65535]


def test_the_same_inputs_are_converted_once() -> None:
    seen: list[Any] = []
    run = engines._take_list(lambda *arrays: seen.extend(arrays) or [], [np.dtype(np.int32), np.dtype(np.float32)])
    words, floats = np.array([1, 65535], np.uint16), np.ones(2, np.float32)
    inputs = [words, floats]
    for given in list[list[Any]]([inputs, inputs, [words, floats]]):
        run(given)
    assert seen[0].dtype == np.int32
    assert seen[0].tolist() == [1, 65535]
    assert [seen[0] is other for other in seen[2::2]] == [True, False]
    assert all(each is floats for each in seen[1::2])


def test_a_module_that_is_loaded_apart_has_a_loader() -> None:
    """Else Python 3.15 warns of each traceback through it."""
    spec = vars(engines._telemetry())["__spec__"]
    assert spec.loader.get_source(spec.name).startswith('"""Import OpenVINO')
