"""Run ONNX's own tests of single operators, and write the page docs/onnx.md with the results.

    python -m benchmarks.onnx_nodes > docs/onnx.md

The tests are those of the installed library ``onnx``.
"""

from __future__ import annotations

import textwrap
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from nnapi.compiling import compile
from nnapi.errors import BadDataError, NnapiError
from nnapi.importers import load
from nnapi.importers.onnx.operators import MODULES
from nnapi.importers.refusals import UnsupportedOperationsError
from nnapi.model.model import Model

PARAMETERS = {
    "CenterCropPad": (1,),
    "Clip": (1, 2),
    "DFT": (1, 2),
    "ConstantOfShape": (0,),
    "CumProd": (1,),
    "CumSum": (1,),
    "Dropout": (1, 2),
    "Expand": (1,),
    "GatherND": (1,),
    "Loop": (0, 1),
    "MaxUnpool": (2,),
    "MelWeightMatrix": (0, 1, 2, 3, 4),
    "NonMaxSuppression": (2, 3, 4),
    "OneHot": (1, 2),
    "Pad": (1, 2, 3),
    "Range": (0, 1, 2),
    "ReduceL1": (1,),
    "ReduceL2": (1,),
    "ReduceLogSum": (1,),
    "ReduceLogSumExp": (1,),
    "ReduceMax": (1,),
    "ReduceMean": (1,),
    "ReduceMin": (1,),
    "ReduceProd": (1,),
    "ReduceSum": (1,),
    "ReduceSumSquare": (1,),
    "Reshape": (1,),
    "Resize": (1, 2, 3),
    "ReverseSequence": (1,),
    "Scatter": (1,),
    "ScatterElements": (1,),
    "ScatterND": (1,),
    "Slice": (1, 2, 3, 4),
    "Split": (1,),
    "STFT": (1, 2, 3),
    "Squeeze": (1,),
    "Tile": (1,),
    "TopK": (1,),
    "Trilu": (1,),
    "Unsqueeze": (1,),
    "Upsample": (1,),
    "BlackmanWindow": (0,),
    "HammingWindow": (0,),
    "HannWindow": (0,),
    "ConvTranspose": (1,),
    "QuantizeLinear": (1, 2),
    "DequantizeLinear": (1, 2),
    "QLinearConv": (1, 2, 3, 4, 5, 6, 7, 8),
    "QLinearMatMul": (1, 2, 4, 5, 6, 7),
    "LSTM": (1, 2, 3, 4, 7),
    "GRU": (1, 2, 3, 4),
    "RNN": (1, 2, 3, 4),
}
"""The indices of inputs that are parameters: constants in networks, but inputs of the model in ONNX's tests."""


class NodeCase(NamedTuple):
    """A model of one operator, or of the operators that define it, with inputs, expected outputs and tolerances."""

    name: str
    content: bytes
    inputs: list[Any]
    outputs: list[Any]
    relative: float
    absolute: float

    @property
    def operator(self) -> str:
        """The tested operator."""
        import onnx

        nodes = onnx.ModelProto.FromString(self.content).graph.node
        return self.name.removeprefix("test_").split("_")[0] if len(nodes) != 1 else str(nodes[0].op_type)


class Outcome(NamedTuple):
    """``kind`` is passed, frozen (passed with parameters as constants), refused, wrong or failed."""

    kind: str
    reason: str = ""


@cache
def node_cases() -> list[NodeCase]:
    """Return all cases, in the order of the library."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some tests overflow on purpose
        tests = load_model_tests(kind="node")
    found = []
    for test in tests:
        if test.model is not None and test.data_sets:
            inputs, outputs = ([_array(each) for each in side] for side in test.data_sets[0])
            found.append(NodeCase(test.name, test.model.SerializeToString(), inputs, outputs, test.rtol, test.atol))
    return found


def _array(value: Any) -> Any:
    from onnx import TensorProto, numpy_helper

    return numpy_helper.to_array(value) if isinstance(value, TensorProto) else value


def outcome(case: NodeCase, device: str | None = None) -> Outcome:
    """Return the outcome of a case; if it is refused, try it with its parameters as constants."""
    found = _try(case.content, case.inputs, case, device)
    if found.kind != "refused":
        return found
    content, inputs = freeze_parameters(case)
    if len(inputs) == len(case.inputs):
        return found
    again = _try(content, inputs, case, device)
    return Outcome("frozen") if again.kind == "passed" else again


def freeze_parameters(case: NodeCase) -> tuple[bytes, list[Any]]:
    """Return the case's model with its parameters as constants, and the remaining inputs."""
    from onnx import ModelProto, numpy_helper

    model = ModelProto.FromString(case.content)
    users: dict[str, set[bool]] = {}
    for node in model.graph.node:
        for i, name in enumerate(node.input):
            users.setdefault(name, set()).add(i in PARAMETERS.get(node.op_type, ()))
    left = []
    for info, array in zip(list(model.graph.input), case.inputs, strict=True):
        is_integers = getattr(array, "dtype", None) == np.int64 and array.ndim < 2
        if users.get(info.name) == {True} or (is_integers and "expanded" in case.name):
            model.graph.initializer.append(numpy_helper.from_array(np.asarray(array), info.name))
            model.graph.input.remove(info)
        else:
            left.append(array)
    return model.SerializeToString(), left


def _try(content: bytes, inputs: Sequence[Any], case: NodeCase, device: str | None) -> Outcome:
    try:
        model = load(content)
    except UnsupportedOperationsError as error:
        first = error.refusals[0]
        return Outcome("refused", f"{first.operation}: {first.reason}")
    except BadDataError as error:
        return Outcome("refused", error.message)
    try:
        compiled = compile(model, device) if device else compile(model)
        results = compiled.run(*(fit_input(array, model, i) for i, array in enumerate(inputs)))
    except NnapiError as error:
        return Outcome("failed", str(error))
    for ours, theirs in zip(list(results), case.outputs, strict=True):
        try:
            assert_close(np.asarray(ours), np.asarray(theirs), case)
        except AssertionError as error:
            return Outcome("wrong", " ".join(str(error).split())[:300])
    return Outcome("passed")


def fit_input(array: Any, model: Model, i: int) -> Any:
    """Convert an input to the type that the model has for it."""
    type = model.operands[model.inputs[i]].type
    array = np.asarray(array)
    return array.astype(np.bool_ if type.name == "BOOL8" else type.dtype).reshape(array.shape or (1,))


def assert_close(ours: Any, theirs: Any, case: NodeCase) -> None:
    """Compare floats within the test's own tolerance, and float16 within two units in the last place.

    TopK may return equal elements in any order, so their indices are not compared.
    """
    assert ours.shape == (theirs.shape or (1,)), f"shape {ours.shape}, not {theirs.shape}"
    theirs = theirs.reshape(ours.shape)
    if theirs.dtype.kind == "f":
        relative = max(case.relative, 2e-3) if theirs.dtype == np.float16 else case.relative
        wide, other = ours.astype(np.float64), theirs.astype(np.float64)
        np.testing.assert_allclose(wide, other, relative, max(case.absolute, 1e-6))
    elif "top_k_same_values" in case.name:
        assert theirs.dtype == np.int64
    else:
        np.testing.assert_array_equal(ours.astype(theirs.dtype), theirs)


INTRODUCTION = """# ONNX

<!-- Written by `python -m benchmarks.onnx_nodes`; a test compares it with what becomes of the tests. -->

`nnapi.load("model.onnx")` reads ONNX from opset 6 on. Few operators need the library `onnx` (`pip install
'nnapi[onnx]'`). The importer converts most operators by rules. It replaces an operator without a rule by the operators
of its definition in ONNX, or refuses it with a reason. One error lists all refused operators of a file. nnapi computes
constant expressions while it reads the file. It converts int64 to int32 and float64 to float32, with a note in
`Model.notes`. An index out of range is an error: of the import if it is constant, else of the run.

Dynamic dimensions stay dynamic if NNAPI can express the operators with them. Otherwise nnapi compiles the model for the
shapes of each run and keeps compilations up to 1 GB; `explain()` lists the time of each compilation. When compilations
have taken 0.1 s, a device that takes dynamic dimensions (openvino-cpu) compiles the model once for all other shapes. A
shape whose runs then take longer than that compilation gets its own. `explain()` names the device and the dimensions,
or why no device takes them. That compilation also takes inputs without elements if they are concatenated only, such as
the past of a decoder's prompt.
nnapi imports the file once for all shapes; `explain()` says if other shapes took another import. Some inputs
grow by one element at each run, for example a decoder's past keys. nnapi pads such inputs to a multiple of 64 if the
padding changes no result. A mask or bias that the file computes from lengths is padded so that it excludes the padding.
To test this, nnapi pads with large random values. With padding, a decoder that generates 64 tokens is compiled twice,
not once for each token. Where a device takes dynamic dimensions, the padded compilation is prepared behind the runs,
and takes over if it is faster; `NNAPI_TUNING=0` prevents this. The cache stores the
compilations of a file by shapes. Another process that runs the same file on the same shapes neither imports nor lowers
the file again.
`nnapi.load(path, shapes={{"x": (1, 3, 224, 224)}})` fixes dimensions.

Images are NCHW in the file. The importer adds a TRANSPOSE to NHWC at the beginning of the network, and a TRANSPOSE
back at the end. The importer does not use NNAPI's layout argument. With this argument, an engine that computes in
NHWC would transpose before and after every operation. On xnnpack-cpu, chains of 4 and 8 convolutions took 1.15 and 1.66
times as long with the argument as without it. On openvino-cpu, which chooses its own layout, the argument made no
difference.

The library `onnx` has four sets of models:

| set | models | pass | reason why the others do not pass |
| --- | --- | --- | --- |
| converted from PyTorch | 82 | 82 | |
| PyTorch's operators | 35 | 31 | float64 inputs that are infinite in float32 |
| simple | 23 | 7 | sequences, strings and gradients |
| light | 9 | 6 (only loaded, not run) | the weights are not in the file and would take more than 256 MB |

PyTorch has two exporters. For networks that they export, nnapi's results agree with ONNX Runtime's within 1e-4. For
networks that ONNX Runtime's tool quantized, the results of each operation agree within 1 quantization step.

`python -m benchmarks.architectures` tests 64 architectures with random weights, which PyTorch 2.13 or 2.14 exported. 61
of them load, and their results agree with ONNX Runtime's within 4e-6 of the largest value. nnapi also exported these 61
networks. The results of the exported files in LiteRT and ONNX Runtime agree as closely, and no file crashed an engine.
The untrained networks ViT and MLP-Mixer output zeros. For these two, the inputs of the last layer were compared, and
they agree. [Performance](performance.md#networks-slower-than-onnx-runtime) lists the networks that are slower than in
ONNX Runtime.

| architectures by kind | outcome |
| --- | --- |
| encoders: BERT, RoBERTa, DistilBERT, ELECTRA, ALBERT, MobileBERT, MPNet, SqueezeBERT, ConvBERT, DeBERTa | right |
| other text: CLIP's encoder, GPT-2, Llama, T5, Mamba, LSTM and GRU taggers | right |
| sound: wav2vec 2.0, HuBERT, HiFi-GAN, Encodec without its quantizer, WaveNet | right |
| pictures: AlexNet, VGG-11, ResNet-18 and -50, ResNeXt, Res2Net, RegNet, DenseNet, GoogLeNet, Inception v3 | right |
| small networks for pictures: RepVGG, MobileNetV2 and V3, MNASNet, EfficientNet-B0, GhostNet | right |
| small networks for pictures: ShuffleNet V2, SqueezeNet, HRNet | right |
| attention: ViT, DeiT, Swin, MaxViT, MobileViT, EdgeNeXt, LeViT, ConvNeXt, MLP-Mixer, PoolFormer | right |
| networks that generate pictures: ESPCN, DCGAN, a diffusion U-Net | right |
| depth, segmentation, detection: DPT, SegFormer, DeepLabv3, FCN, LR-ASPP, YOLOS, DETR | right |
| video: R3D | right |
| detection that suppresses boxes: SSDlite, RetinaNet, Faster R-CNN | right |

The next table counts the tests of operators in onnx {version} on `nnapi-reference`. A test is *passed* if it passes
unchanged. It is *frozen* if it passes after its parameters (shapes, axes, weights of recurrent cells, scales) were
made constants, as they are in networks. Otherwise it is *refused*; the last column has the most frequent reason. No
test gives a wrong result, neither on `nnapi-reference` nor on the devices chosen by default.

For many operators, the library has a second test, in which simpler operators replace the operator. The rows with the
word "decomposed" count these tests. Such a row begins with the first word of its tests' names.

"""


def page(cases: Iterable[NodeCase], outcomes: Mapping[str, Outcome]) -> str:
    """Return the page as Markdown; ``outcomes`` are by names of cases."""
    import onnx

    found: dict[str, list[Outcome]] = defaultdict(list)
    for case in cases:
        found[case.operator].append(outcomes[case.name])
    totals = Counter(each.kind for each in outcomes.values())
    rows = [
        f"Of {totals.total()} tests, {totals['passed']} pass unchanged, {totals['frozen']} pass with constants, and "
        f"{totals['refused']} are refused.",
        "",
        "| operator | passed | frozen | refused | most frequent reason of refusal |",
        "| --- | --- | --- | --- | --- |",
        *(_row(operator, found[operator]) for operator in sorted(found, key=str.lower)),
    ]
    return INTRODUCTION.format(version=onnx.__version__) + "\n".join([*rows, "", _untested(found)]) + "\n"


def _untested(operators: Iterable[str]) -> str:
    tested = {*operators, *(f"ai.onnx.ml:{operator}" for operator in operators)}  # rows have no domain
    names = sorted(set(MODULES) - tested, key=str.lower)
    text = f"These operators have rules, but no tests in the library: {', '.join(names)}."
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False)


def _row(operator: str, outcomes: Sequence[Outcome]) -> str:
    kinds = Counter(each.kind for each in outcomes)
    reasons = Counter(each.reason.removeprefix(f"{operator}: ") for each in outcomes if each.kind == "refused")
    why = reasons.most_common(1)[0][0].replace("|", "\\|") if reasons else ""
    counts = " | ".join(str(kinds[kind] or "") for kind in ("passed", "frozen", "refused"))
    return f"| {row_name(operator)} | {counts} | {why} |"


def row_name(operator: str) -> str:
    """Return the page's name of an operator; a test of several operators is named by the first word of its name."""
    return operator if operator[0].isupper() else f"{operator}, decomposed"


if __name__ == "__main__":
    CASES = node_cases()
    print(page(CASES, {case.name: outcome(case, "nnapi-reference") for case in CASES}), end="")
