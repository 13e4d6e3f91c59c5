"""Real files: loading copies nothing, and the models agree with LiteRT."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi.codes import OperandCode
from nnapi.importers import load
from nnapi.importers.refusals import UnsupportedOperationsError
from nnapi.model.model import Lifetime, Model, Operand, OperationCall
from tests.networks import find_networks

pytestmark = pytest.mark.shared
Arrays = dict[str, np.ndarray[Any, Any]]

FLOATS = [
    "add_trivial",
    "blazeface_front_f16",
    "blazeface_front_float",
    "deeplabv3_257_float",
    "deq_mobilenet_v1_1.0_224_float",
    "deq_mobilenet_v2_1.0_224_float",
    "mobilenet_v1_0.25_128_float",
    "text_movie_review",
    "tflm_hello_world_float",
    "tflm_mnist_lstm_float",
    "tiny_ad01_float",
    "tiny_resnet8_float",
    "tiny_vww_96_float",
    "blazepose_detection",
    "cpm_pose_float",
    "deq_mobilenet_edgetpu_0.75_float",
    "dtln_1_float",
    "dtln_2_float",
    "face_landmark_float",
    "hourglass_pose_float",
    "iris_landmark_float",
    "mobilenet_v1_0.25_224_float",
    "tiny_resnet_large_float",
]
QUANTIZED = [
    "keras_lstm_mnist_ptq",
    "mobilenet_v1_0.25_128_quant",
    "mobilenet_v2_1.0_224_quant",
    "movenet_lightning_ptq",
    "ssd_mobilenet_v1_coco_quant",
    "tf2_mobilenet_v2_1.0_224_ptq",
    "tflm_dtln_int8",
    "tflm_hello_world_int8",
    "tflm_micro_speech_int8",
    "tflm_mnist_lstm_int8",
    "tiny_ad01_int8",
    "tiny_kws_int8",
    "tiny_resnet8_int8",
    "tiny_streaming_wakeword_int8",
    "tiny_vww_96_int8",
    "bisenetv2_256_intquant",
    "blazeface_front_int8",
    "blazepose_landmark_lite_f16",
    "deeplabv3_ade20k_int8",
    "deeplabv3_ade20k_uint8",
    "deeplabv3_mnv2_513_quant",
    "deeplabv3_mnv2_dm05_quant",
    "face_landmark_int8",
    "mobilenet_edgetpu_0.75_ptq",
    "mobilenet_v1_0.25_224_quant",
    "mobilenet_v1_0.75_192_quant",
    "mobilenet_v1_1.0_224_quant_embedding",
    "mobilenet_v2_inat_bird_quant",
    "mobilenet_v2_pytorch_int8",
    "posenet_mnv1_100_257_int8",
    "ssd_mobilenet_v2_fpnlite_320",
    "ssd_slim_120x160_int8",
    "tflm_micro_speech_lstm",
    "tiny_resnet_large_int8",
    "yamnet_spectra_in_int8",
]
INEXPRESSIBLE = {
    "tflm_keyword_svdf": "QUANTIZE of 16 bits",
    "tflm_keyword_svdf_int8": "QUANTIZE of 16 bits",
}
"""Networks that NNAPI cannot express, and what of them."""
LEFT_OUT = INEXPRESSIBLE | {
    "dtln_1_dynquant": "weights of 8 bits beside floats: LiteRT rounds the inputs too",
    "tiny_kws_float": "weights of 8 bits beside floats: LiteRT rounds the inputs too",
    "edsr_f32b5_float": "takes minutes on the reference",
    "edsr_f32b5_int8": "takes minutes on the reference",
    "hair_segmentation_float": "LiteRT has no kernels of its own for its custom operations",
    "selfie_segmenter_f16": "LiteRT has no kernels of its own for its custom operations",
    "hand_landmark_3d_intquant": "divides by 0 on random inputs, where LiteRT gives the largest float",
    "style_transfer_384_quant": "takes roots of negative variances on random inputs",
    "tflm_person_detect_int8": "LiteRT refuses the file",
}
"""Networks that are not compared with LiteRT, and why."""


def file(shared: Path, name: str) -> Path:
    return find_networks(shared)[name]


def random_inputs(model: Model, interpreter: Any) -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(8)
    inputs = []
    for detail in interpreter.get_input_details():
        dtype, shape = np.dtype(detail["dtype"]), detail["shape"]
        if dtype.kind == "f":
            inputs.append(rng.uniform(-1, 1, shape).astype(dtype))
        elif dtype.itemsize == 1:
            inputs.append(rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max + 1, shape).astype(dtype))
        else:
            inputs.append(rng.integers(0, 100, shape).astype(dtype))
    return inputs


def litert(path: Path, model: Model) -> tuple[list[np.ndarray[Any, Any]], list[np.ndarray[Any, Any]], Arrays]:
    """Random inputs, LiteRT's outputs and everything in between by name."""
    module = pytest.importorskip("ai_edge_litert.interpreter", reason="ai-edge-litert is not installed")
    interpreter = module.Interpreter(
        str(path),
        num_threads=1,
        experimental_op_resolver_type=module.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
        experimental_preserve_all_tensors=True,
    )
    interpreter.allocate_tensors()
    inputs = random_inputs(model, interpreter)
    for detail, value in zip(interpreter.get_input_details(), inputs, strict=True):
        interpreter.set_tensor(detail["index"], value)
    interpreter.invoke()
    between: Arrays = {}
    for detail in interpreter.get_tensor_details():
        try:
            between[detail["name"]] = interpreter.get_tensor(detail["index"])
        except ValueError:
            continue
    outputs = [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]
    return inputs, outputs, between


@pytest.mark.slow
@pytest.mark.engine
@pytest.mark.parametrize("name", FLOATS)
def test_float_networks_agree_with_litert(name: str, shared: Path) -> None:
    model = load(file(shared, name))
    inputs, expected, _ = litert(file(shared, name), model)
    for ours, theirs in zip(nnapi.compile(model, "nnapi-reference").run(*inputs), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-4 * float(np.abs(theirs).max()))


@pytest.mark.slow
@pytest.mark.engine
@pytest.mark.parametrize("name", QUANTIZED)
def test_every_operation_of_quantized_networks_is_within_one_step(name: str, shared: Path) -> None:
    """Each on LiteRT's own values: along a network, ties that are rounded otherwise add up in every engine. Of
    operations that differ only in sizes and values, a process compares the first."""
    model = load(file(shared, name))
    _, _, between = litert(file(shared, name), model)
    known: dict[int, np.ndarray[Any, Any]] = {}
    compared = 0
    for call in model.operations:
        pattern = pattern_of(model, call)
        if pattern in COMPARED and all(fits(between, model, index) for index in call.outputs):
            compared += 1
            continue
        COMPARED.add(pattern)
        single, reads = alone(model, call)
        given = [stored(between, known, model, index) for index in reads]
        for index, ours in zip(call.outputs, nnapi.compile(single, "nnapi-reference").run(*given), strict=True):
            known[index] = ours
            theirs = between.get(model.operands[index].name)
            if theirs is None or theirs.size != ours.size:
                continue  # a step of a composition
            compared += 1
            apart = np.abs(ours.reshape(-1).astype(np.float64) - theirs.reshape(-1).astype(np.float64)).max()
            limit = 1e-5 * float(np.abs(theirs).max()) if ours.dtype.kind == "f" else float(ours.dtype.itemsize == 1)
            assert apart <= limit, f"{call} {model.operands[index]}"
    assert compared >= 3


COMPARED: set[object] = set()


def pattern_of(model: Model, call: OperationCall) -> object:
    """An operation with the types of its operands and its scalars, but without sizes, values and scales."""

    def describe(operand: Operand) -> object:
        type, is_constant = operand.type, operand.lifetime == Lifetime.CONSTANT
        value = operand.value.tobytes() if is_constant and operand.value.size < 5 else None
        quantized = type.is_quantized and type.zero_point != 0
        return type.code, len(type.dimensions), type.channel is not None, quantized, operand.lifetime, value

    return call.name, *(describe(model.operands[index]) for index in (*call.inputs, *call.outputs))


def fits(between: Arrays, model: Model, index: int) -> bool:
    """Whether LiteRT has a value of an operand's size, so that later operations need not read ours."""
    value = between.get(model.operands[index].name)
    return value is not None and value.size == model.operands[index].type.size


def stored(between: Arrays, known: dict[int, np.ndarray[Any, Any]], model: Model, index: int) -> np.ndarray[Any, Any]:
    """LiteRT's value of an operand, ours for what it does not have."""
    value = between.get(model.operands[index].name)
    if value is None or (index in known and value.size != known[index].size):
        value = known[index]
    value = value.astype(np.int32) if value.dtype == np.int64 else value
    return value.reshape(value.shape or (1,))


def alone(model: Model, call: OperationCall) -> tuple[Model, list[int]]:
    """A model of one operation of another, and the operands that it reads."""
    single, indices, reads = Model(call.name), {}, []
    for index in dict.fromkeys((*call.inputs, *call.outputs)):
        operand = model.operands[index]
        at = indices[index] = single.add_operand(operand.type.replace(channel=None), operand.name)
        if operand.type.channel:
            channel = operand.type.channel
            single.set_operand_symm_per_channel_quant_params(at, channel.dimension, channel.scales)
        if operand.lifetime in (Lifetime.CONSTANT, Lifetime.NO_VALUE):
            single.set_operand_value(at, operand.value)
        elif index in call.inputs:
            reads.append(index)
    single.add_operation(call.code, [indices[i] for i in call.inputs], [indices[i] for i in call.outputs])
    single.identify_inputs_and_outputs([indices[i] for i in reads], [indices[i] for i in call.outputs])
    single.finish()
    return single, reads


@pytest.mark.engine
@pytest.mark.parametrize(
    ("name", "within"), [("keras_lstm_mnist_ptq", 1), ("tflm_mnist_lstm_int8", 1), ("tiny_kws_int8", 1)]
)
def test_short_quantized_networks_agree_as_a_whole(name: str, within: int, shared: Path) -> None:
    model = load(file(shared, name))
    inputs, expected, _ = litert(file(shared, name), model)
    for ours, theirs in zip(nnapi.compile(model, "nnapi-reference").run(*inputs), expected, strict=True):
        assert np.abs(ours.astype(int) - theirs.astype(int)).max() <= within


@pytest.mark.slow
@pytest.mark.engine
def test_int64_classes_of_a_segmentation_are_the_same(shared: Path) -> None:
    path = file(shared, "deeplabv3_mnv2_dm05_quant")
    model = load(path)
    assert model.operands[model.outputs[0]].type.code == OperandCode.TENSOR_INT32
    inputs, (expected,), _ = litert(path, model)
    (ours,) = nnapi.compile(model, "nnapi-reference").run(*inputs)
    assert np.mean(ours == expected) > 0.99


@pytest.mark.slow
def test_every_network_is_a_model(shared: Path) -> None:
    for name, path in find_networks(shared).items():
        if name in INEXPRESSIBLE:
            with pytest.raises(UnsupportedOperationsError, match="QUANTIZE"):
                load(path)
            continue
        model = load(path)
        assert model.is_finished
        assert model.name == name


def test_every_network_is_compared_or_left_out_for_a_reason(shared: Path) -> None:
    named = [*FLOATS, *QUANTIZED, *LEFT_OUT]
    assert sorted(named) == sorted(find_networks(shared))


def test_weights_are_views_of_the_file(shared: Path) -> None:
    path = file(shared, "mobilenet_v2_1.0_224_quant")
    constants = [operand for operand in load(path).operands if operand.lifetime == Lifetime.CONSTANT]
    mapped = sum(operand.value.nbytes for operand in constants if operand.in_memory)
    copied = sum(operand.value.nbytes for operand in constants if not operand.in_memory)
    assert mapped > 0.95 * path.stat().st_size
    assert copied < 1024


def test_an_lstm_in_integers_over_time_is_one_operation(shared: Path) -> None:
    names = [call.name for call in load(file(shared, "tflm_mnist_lstm_int8")).operations]
    assert names.count("QUANTIZED_LSTM_SEQUENCE") == 1
    assert "QUANTIZED_LSTM" not in names


def test_a_file_that_litert_refuses_is_accepted_and_says_what_is_assumed(shared: Path) -> None:
    model = load(file(shared, "tflm_person_detect_int8"))
    assert any("the scales of a bias follow from input and weights" in note for note in model.notes)


def test_a_model_pays_for_its_own_operations(shared: Path) -> None:
    """Neither a FlatBuffers library nor the modules of other operations are loaded."""
    code = f"import nnapi, sys; nnapi.load({str(file(shared, 'tflm_hello_world_float'))!r}); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {"nnapi.importers.tflite.rules.convolution", "nnapi.ops.matmul"} <= set(loaded)
    others = {"flatbuffers", "tflite", "nnapi.importers.tflite.rules.recurrent", "nnapi.ops.lstm"}
    assert not others & set(loaded)


def test_an_empty_file_is_named_whatever_its_name(tmp_path: Path) -> None:
    file = tmp_path / "empty"
    file.touch()
    with pytest.raises(nnapi.NnapiError, match=f"^{file}: the file is empty$"):
        nnapi.load(file)
