"""Programs as people write them for LiteRT, unchanged: on LiteRT, with this library in its place, and by one line."""

from __future__ import annotations

import math
import runpy
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ai_edge_litert = pytest.importorskip("ai_edge_litert", reason="ai-edge-litert is not installed")
from nnapi.litert import interpreter as litert_devices  # noqa: E402  # LiteRT may be missing
from tests.discovery import find_devices_anew  # noqa: E402
from tests.litert import model_cases  # noqa: E402

pytestmark = pytest.mark.engine
FOLDER = Path(__file__).with_name("programs")
REPLACED = ("ai_edge_litert", "tflite_runtime", "tensorflow")


ARGUMENTS = {
    "delegate_if_any": ["dense"],
    "detect_objects": ["models/ssd_mobilenet_v1_coco_quant.tflite", "images/cats_and_dogs.jpg"],
    "detect_person": ["models/tiny_vww_96_int8.tflite", "images/grace_hopper.bmp"],
    "errors_caught": ["dense"],
    "find_anomalies": ["models/tiny_ad01_float.tflite"],
    "find_faces": ["models/blazeface_front_float.tflite", "images/grace_hopper.bmp"],
    "inputs_by_name": ["two_steps"],
    "intermediate_tensors": ["two_steps"],
    "kept_state": ["svdf"],
    "label_image": ["models/mobilenet_v1_0.25_128_quant.tflite", "images/bird.bmp", "images/imagenet_labels.txt"],
    "label_image_float": ["models/mobilenet_v1_0.25_128_float.tflite", "images/cat.bmp"],
    "list_operators": ["two_steps"],
    "list_tensors": ["dense"],
    "measure_latency": ["models/tflm_hello_world_float.tflite"],
    "model_content": ["dense"],
    "one_signature": ["one_signature"],
    "open_batch": ["open_batch"],
    "predict_sine": ["models/tflm_hello_world_int8.tflite"],
    "quantize_both_ends": ["dense"],
    "rate_review": ["models/text_movie_review.tflite"],
    "read_digits": ["models/tflm_mnist_lstm_int8.tflite"],
    "recognize_speech": ["models/tflm_micro_speech_int8.tflite", "images/nns_yes.wav"],
    "resize_batch": ["dense"],
    "set_once": ["two_steps"],
    "several_signatures": ["signatures"],
    "several_threads": ["dense"],
    "subclassed": ["two_steps"],
    "tensorflow_lite": ["dense"],
    "view_held_too_long": ["two_steps"],
    "views": ["two_steps"],
    "whole_numbers": ["whole_numbers"],
    "wrapped_in_a_class": ["dense"],
}
"""The arguments of each program: a model of the tests, or files of the shared material."""
PROGRAMS = [
    pytest.param(name, marks=[pytest.mark.shared] if "/" in arguments[0] else [])
    for name, arguments in ARGUMENTS.items()
]
STEPS, REAL = 1, 1e-5
"""The permitted difference from LiteRT, as in the conformance examples: quantization steps, and relative."""
ONE_STEP = {"detect_objects": 0.01, "label_image": math.expm1(0.131)}
"""The relative difference that one quantization step of a model's last convolution causes."""


def test_every_program_runs() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.py")) == [*ARGUMENTS]
    assert len(ARGUMENTS) >= 30


@pytest.fixture
def arguments(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> list[str]:
    """The files that a program is called with."""
    if "/" in ARGUMENTS[name][0]:
        return [str(request.getfixturevalue("shared") / each) for each in ARGUMENTS[name]]
    (model,) = ARGUMENTS[name]
    path = tmp_path / f"{model}.tflite"
    path.write_bytes(getattr(model_cases, model)())
    return [str(path)]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # LiteRT's delegate that fails to load
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_gives_the_same_results(
    name: str, arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    find_devices_anew(monkeypatch)
    monkeypatch.delenv("DEBUG_NN_CPUONLY")
    monkeypatch.setenv("DEBUG_NN_ENABLED_DEVICES", "xnnpack")
    program = FOLDER / f"{name}.py"
    device = "xnnpack-cpu" if "/" in ARGUMENTS[name][0] else "nnapi-reference"

    monkeypatch.setattr(sys, "argv", [program.name, *arguments])
    runpy.run_path(str(program), run_name="__main__")
    foreign = read_results()

    with as_they_were(monkeypatch):
        monkeypatch.setattr(sys, "argv", ["nnapi.litert", "--devices", device, str(program), *arguments])
        runpy.run_module("nnapi.litert", run_name="__main__", alter_sys=True)
        agree(read_results(), foreign, ONE_STEP.get(name, REAL))

    changed = program.read_text().replace("from ai_edge_litert.interpreter import", "from nnapi.litert import")
    changed = changed.replace("from ai_edge_litert import interpreter as tflite", "import nnapi.litert as tflite")
    (tmp_path / program.name).write_text(changed)
    monkeypatch.setattr(sys, "argv", [program.name, *arguments])
    monkeypatch.setattr(litert_devices, "list_devices", lambda delegates: [device])
    runpy.run_path(program.name, run_name="__main__")
    agree(read_results(), foreign, ONE_STEP.get(name, REAL))


@contextmanager
def as_they_were(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Leave the modules that are replaced as they were before."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    monkeypatch.setenv("NNAPI_DROPIN", "")  # which the command sets
    before = {name: module for name, module in sys.modules.items() if name.partition(".")[0] in REPLACED}
    try:
        yield
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] in REPLACED]:
            del sys.modules[name]
        sys.modules.update(before)
        ai_edge_litert.interpreter = before["ai_edge_litert.interpreter"]


def read_results() -> dict[str, Any]:
    path = Path("results.npz")
    with np.load(path) as results:
        read = dict(results)
    path.unlink()
    return read


def agree(ours: dict[str, Any], foreign: dict[str, Any], real: float) -> None:
    assert list(ours) == list(foreign)
    for name, expected in foreign.items():
        result = ours[name]
        assert (result.dtype, result.shape) == (expected.dtype, expected.shape), name
        if expected.dtype.kind == "f":
            largest = float(np.abs(expected).max(initial=1))
            np.testing.assert_allclose(result, expected, real, real * largest, err_msg=name)
        elif expected.dtype.kind in "iu" and expected.dtype.itemsize == 1:
            wide = expected.astype(int)
            wrong = np.abs(result - wide) > STEPS + real * np.abs(wide)
            assert not wrong.any(), f"{name}: {result[wrong]}, not {expected[wrong]}, at {np.argwhere(wrong).tolist()}"
        else:
            np.testing.assert_array_equal(result, expected, name)
