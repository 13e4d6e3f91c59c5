"""LiteRT's CompiledModel and this library's, in the same programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

litert = pytest.importorskip("ai_edge_litert.compiled_model", reason="ai-edge-litert is not installed")
from nnapi.codes import DeviceTypeCode  # noqa: E402  # LiteRT may be missing
from nnapi.drivers.limited import Limited  # noqa: E402
from nnapi.litert import CompiledModel, Interpreter, compiled_model  # noqa: E402
from nnapi.litert.compiled_model import PLACEHOLDER  # noqa: E402
from nnapi.litert.tensor_buffer import ArrayBuffer  # noqa: E402
from nnapi.runtime.device import Device, device  # noqa: E402
from tests.discovery import find_devices_anew, replace_devices  # noqa: E402
from tests.litert.interpreter_cases import needs_library  # noqa: E402
from tests.litert.model_cases import (  # noqa: E402
    dense,
    misstated,
    open_batch,
    signatures,
    svdf,
    two_steps,
    whole_numbers,
)
from tests.litert.test_litert_interpreter import with_atan2  # noqa: E402

pytestmark = pytest.mark.engine
rng = np.random.default_rng(5)
CPU, GPU, NPU = compiled_model.HardwareAccelerator
both = pytest.mark.parametrize("made_by", [litert.CompiledModel, CompiledModel], ids=["litert", "nnapi"])


def fill(buffers: list[Any]) -> None:
    for buffer in buffers:
        details = buffer.get_tensor_details()
        buffer.write(rng.uniform(-3, 3, details["shape"]).astype(details["dtype"]))


def read(buffer: Any) -> np.ndarray:
    details = buffer.get_tensor_details()
    elements: np.ndarray = buffer.read(int(np.prod(details["shape"])), np.dtype(details["dtype"]))
    return elements.reshape(details["shape"])


def describe(model: Any) -> list[Any]:
    """All that a model reports of itself."""
    keys = model.get_signature_list()
    told = [keys, model.get_num_signatures(), [model.get_signature_index(key) for key in (*keys, "missing")]]
    for index, key in enumerate(keys):
        told += [model.get_signature_by_index(index), model.get_input_tensor_details(key)]
        told += [model.get_output_tensor_details(key), model.get_input_buffer_requirements(0, index)]
        told += [model.get_output_buffer_requirements(0, signature_index=index)]
        buffers = [*model.create_input_buffers(index), *model.create_output_buffers(index)]
        told += [[buffer.get_tensor_details() for buffer in buffers]]
    return told


@pytest.mark.parametrize("content", [dense, misstated, open_batch, signatures, two_steps, whole_numbers])
def test_models_describe_themselves_alike(content: Callable[[], bytes]) -> None:
    theirs, ours = litert.CompiledModel.from_buffer(content()), CompiledModel.from_buffer(content())
    assert describe(ours) == describe(theirs)


@pytest.mark.parametrize("content", [dense, open_batch, signatures, two_steps])
def test_runs_give_the_same_results(content: Callable[[], bytes], tmp_path: Any) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(content())
    theirs, ours = litert.CompiledModel.from_file(str(path)), CompiledModel.from_file(str(path))
    for index, (key, names) in enumerate(theirs.get_signature_list().items()):
        inputs = theirs.create_input_buffers(index)
        fill(inputs)
        mine = ours.create_input_buffers(index)
        for buffer, given in zip(mine, inputs, strict=True):
            buffer.write(read(given))
        for model, given in ((theirs, inputs), (ours, mine), (ours, inputs)):
            outputs, again = model.create_output_buffers(index), model.create_output_buffers(index)
            model.run_by_index(index, given, outputs)
            named = dict(zip(names["inputs"], given, strict=True)), dict(zip(names["outputs"], again, strict=True))
            model.run_by_name(key, *named)
            for one, other in zip(outputs, again, strict=True):
                np.testing.assert_array_equal(read(one), read(other))
            if model is theirs:
                expected = [read(buffer) for buffer in outputs]
        for buffer, value in zip(outputs, expected, strict=True):
            np.testing.assert_allclose(read(buffer), value, 1e-6, 1e-6)


@both
def test_a_buffer_by_name(made_by: Any) -> None:
    model = made_by.from_buffer(signatures())
    entry = model.create_input_buffer_by_name("add", "add_b")
    entry.write(np.array([2], np.float32))
    one = model.create_input_buffer_by_name("add", "add_a")
    one.write(np.array([0.5], np.float32))
    result = model.create_output_buffer_by_name("add", "add_c")
    model.run_by_name("add", {"add_a": one, "add_b": entry}, {"add_c": result})
    assert read(result) == [2.5]


@both
def test_memory_of_the_program(made_by: Any) -> None:
    model = made_by.from_buffer(signatures())
    inputs = [litert.TensorBuffer.create_from_host_memory(np.array([value], np.float32)) for value in (3, 4)]
    outputs = [litert.TensorBuffer.create_from_host_memory(np.zeros(5, np.float32))]
    model.run_by_index(1, inputs, outputs)
    assert outputs[0].read(2, np.float32).tolist() == [12, 0]


@both
def test_an_input_is_resized(made_by: Any) -> None:
    model = made_by.from_buffer(open_batch())
    first = model.create_input_buffers(0), model.create_output_buffers(0)
    model.resize_input_tensor(0, [5, 3])
    assert model.get_input_tensor_details(PLACEHOLDER)["x"]["shape"] == [5, 3]
    assert model.get_output_tensor_details(PLACEHOLDER)["y"]["shape"] == [5, 3]
    inputs, outputs = model.create_input_buffers(0), model.create_output_buffers(0)
    fill(inputs)
    model.run_by_index(0, inputs, outputs)
    np.testing.assert_allclose(read(outputs[0]), np.tanh(read(inputs[0])), 1e-5, 1e-6)
    fill(first[0])
    model.run_by_index(0, *first)  # which resizes it again
    np.testing.assert_allclose(read(first[1][0]), np.tanh(read(first[0][0])), 1e-5, 1e-6)


@both
def test_strict_resizing_keeps_fixed_dimensions(made_by: Any) -> None:
    model = made_by.from_buffer(signatures())
    for resize in (lambda: model.resize_input_tensor(0, [5]), lambda: model.resize_input_tensor(0, [-1], 0, False)):
        with pytest.raises(RuntimeError):
            resize()
    model.resize_input_tensor_by_name("add", "add_a", [5], strict=False)
    assert model.get_output_tensor_details("add")["add_c"]["shape"] == [5]
    with pytest.raises(ValueError, match="Unknown input 'z' for signature 'add'"):
        model.resize_input_tensor_by_name("add", "z", [5])


@both
def test_mistakes_are_refused(made_by: Any, tmp_path: Any) -> None:
    model = made_by.from_buffer(two_steps())
    inputs, outputs = model.create_input_buffers(0), model.create_output_buffers(0)
    mistakes: list[Callable[[], Any]] = [
        lambda: made_by.from_file(str(tmp_path / "missing")),
        lambda: made_by.from_buffer(b"no model"),
        lambda: made_by.from_buffer(two_steps(), compiled_model.HardwareAccelerator(0)),
        lambda: model.get_input_tensor_details("missing"),
        lambda: model.create_input_buffer_by_name("missing", "x"),
        lambda: model.create_output_buffer_by_name(PLACEHOLDER, "missing"),
        lambda: model.get_output_buffer_requirements(7),
        lambda: model.create_input_buffers(7),
        lambda: model.run_by_index(7, inputs, outputs),
        lambda: model.run_by_index(0, inputs[:1], outputs),
        lambda: model.run_by_index(0, inputs, []),
        lambda: model.run_by_name(PLACEHOLDER, {"x": inputs[0], "y": inputs[1]}, {}),
        lambda: model.resize_input_tensor(7, [1]),
    ]
    for mistake in mistakes:
        with pytest.raises(RuntimeError):
            mistake()
    with pytest.raises(ValueError, match="either options or hardware_accel"):
        made_by.from_buffer(two_steps(), CPU, options=compiled_model.Options())
    inputs[0].destroy()
    with pytest.raises(ValueError, match="destroyed"):
        model.run_by_index(0, inputs, outputs)


def test_errors_name_the_mistake() -> None:
    model = CompiledModel.from_buffer(signatures())
    inputs, outputs = model.create_input_buffers(), model.create_output_buffers()
    with pytest.raises(RuntimeError, match="no signature 2, only 0, 1"):
        model.get_signature_by_index(2)  # which ends the process with LiteRT
    with pytest.raises(RuntimeError, match="no buffer for input 'add_b', only add_a"):
        model.run_by_name("add", {"add_a": inputs[0]}, {"add_c": outputs[0]})
    with pytest.raises(RuntimeError, match="takes 2 input and 1 output buffers, not 1 and 1"):
        model.run_by_index(0, inputs[:1], outputs)
    whole = ArrayBuffer(np.zeros(1, np.int32))
    with pytest.raises(RuntimeError, match="the buffer of add_a holds int32, must hold float32"):
        model.run_by_index(0, [whole, inputs[1]], outputs)
    with pytest.raises(RuntimeError, match=r"input add_a cannot be resized to \[3\]: .*unknown dimensions"):
        model.run_by_index(0, [ArrayBuffer(np.zeros(3, np.float32)), inputs[1]], outputs)
    with pytest.raises(RuntimeError, match="smaller|larger"):
        model.run_by_index(0, inputs, [ArrayBuffer(np.zeros(0, np.float32))])
    model.close()
    with pytest.raises(RuntimeError, match="the model is closed"):
        model.create_input_buffers()


def test_elements_are_shared_with_numpy() -> None:
    """Also of types that LiteRT's buffers neither write nor read."""
    with CompiledModel.from_buffer(whole_numbers()) as model:
        inputs, outputs = model.create_input_buffers(0), model.create_output_buffers(0)
        inputs[0].array[...], inputs[1].array[...] = [1, 5, -3], [2, 4, -3]
        model.run_by_index(0, inputs, outputs)
        assert outputs[0].array.tolist() == [1, 4, -3]
        assert read(outputs[1]).tolist() == [True, False, False]


def test_state_lasts_between_runs() -> None:
    """LiteRT's class refuses variables."""
    content = svdf()
    model = CompiledModel.from_buffer(content)
    inputs, outputs = model.create_input_buffers(0), model.create_output_buffers(0)
    interpreter = Interpreter(model_content=content)
    interpreter.allocate_tensors()
    for _ in range(3):
        fill(inputs)
        model.run_by_index(0, inputs, outputs)
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], read(inputs[0]))
        interpreter.invoke()
        expected = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
        np.testing.assert_allclose(read(outputs[0]), expected, 1e-5, 1e-6)


@pytest.fixture
def accelerators(monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU that takes ADD only and an NPU that takes everything, beside the reference."""
    reference = device("nnapi-reference")
    gpu = Limited(
        reference.driver,
        "adder",
        lambda _, call: None if call.name == "ADD" else "it only adds",
        type=DeviceTypeCode.DEVICE_GPU,
    )
    replace_devices(monkeypatch, [reference, Device(gpu), Device(Limited(reference.driver, "npu"))])


@pytest.mark.usefixtures("accelerators")
def test_accelerators_are_devices_of_their_type() -> None:
    whole = CompiledModel.from_buffer(two_steps(), NPU | CPU)
    assert whole.is_fully_accelerated()
    told = whole.explain()
    assert told.startswith("asked for CPU|NPU, fully accelerated\nCPU: nnapi-reference\nGPU: adder\nNPU: npu\n\n")
    assert "npu 2 of 2 operations" in told


@pytest.mark.usefixtures("accelerators")
def test_the_cpu_takes_what_an_accelerator_refuses() -> None:
    model = CompiledModel.from_buffer(two_steps(), GPU | CPU)
    assert not model.is_fully_accelerated()
    told = model.explain()
    assert "asked for CPU|GPU, not fully accelerated" in told
    assert "GPU alone does not run the model" in told
    assert "it only adds" in told
    inputs, outputs = model.create_input_buffers(0), model.create_output_buffers(0)
    fill(inputs)
    model.run_by_index(0, inputs, outputs)
    x, y = map(read, inputs)
    np.testing.assert_allclose(read(outputs[0]), (x + y) * y, 1e-6)
    with pytest.raises(RuntimeError, match=r"(?s)GPU alone.*it only adds.*HardwareAccelerator\.CPU lets the CPU"):
        CompiledModel.from_buffer(two_steps(), GPU)


@pytest.mark.usefixtures("accelerators")
def test_devices_restrict_the_choice() -> None:
    model = CompiledModel.from_buffer(two_steps(), NPU | CPU, devices="nnapi-reference")
    assert not model.is_fully_accelerated()
    assert "NPU alone does not run the model: there is no such device" in model.explain()


def test_engines_on_the_processor_are_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    find_devices_anew(monkeypatch)
    monkeypatch.delenv("DEBUG_NN_CPUONLY")
    monkeypatch.setenv("DEBUG_NN_ENABLED_DEVICES", "xnnpack")
    model = CompiledModel.from_buffer(dense(), devices="xnnpack-cpu")
    assert model.is_fully_accelerated()
    assert "xnnpack-cpu" in next(line for line in model.explain().splitlines() if line.startswith("CPU: "))


@needs_library
def test_litert_computes_what_nnapi_cannot_express() -> None:
    model = CompiledModel.from_buffer(with_atan2())
    assert not model.is_fully_accelerated()
    assert "left to LiteRT: ATAN2" in model.explain()
    inputs, outputs = model.create_input_buffers(0), model.create_output_buffers(0)
    fill(inputs)
    model.run_by_index(0, inputs, outputs)
    x, y = map(read, inputs)
    np.testing.assert_allclose(read(outputs[1]), np.arctan2(x + y, y), 1e-5, 1e-6)
    with pytest.raises(RuntimeError, match="(?s)ATAN2"):
        CompiledModel.from_buffer(with_atan2(), fallback=False)


def test_threads_come_from_the_options(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    made = Interpreter

    def make(*arguments: Any, **named: Any) -> Any:
        asked.append(named["num_threads"])
        return made(*arguments, **named)

    monkeypatch.setattr(compiled_model, "Interpreter", make)
    options = compiled_model.Options(CPU, cpu_options=compiled_model.CpuOptions(num_threads=3))
    CompiledModel.from_buffer(two_steps(), options=options)
    CompiledModel.from_buffer(two_steps())
    assert asked == [3, None]
    options.cpu_options.num_threads = 50000
    with pytest.raises(RuntimeError, match="num_threads is 50000, must be from 1 to 1024"):
        CompiledModel.from_buffer(two_steps(), options=options)


@pytest.mark.usefixtures("accelerators")
def test_devices_that_must_be_named_are_no_accelerators(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Device, "is_by_name", property(lambda found: found.name == "npu"))
    model = CompiledModel.from_buffer(two_steps(), NPU | CPU)
    assert "NPU alone does not run the model: there is no such device" in model.explain()
