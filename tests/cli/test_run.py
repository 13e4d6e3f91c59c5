"""`nnapi run`: what models say about pictures, arrays and random values."""

import json
import re
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import nnapi
from nnapi.cli import app, batch
from nnapi.cli.inputs import read_input
from nnapi.report import timing
from nnapi.runtime.executors import stopwatch
from nnapi.vision.pictures import Pixels

DIGITS = Path(__file__).parents[2] / "examples" / "digits"
FLOAT, QUANT = DIGITS / "digits_float.tflite", DIGITS / "digits_quant.tflite"


def invoke(*arguments: str | Path) -> tuple[int, str, str]:
    result = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["run", *map(str, arguments)])
    return result.exit_code, result.stdout, result.stderr


def shown(*arguments: str | Path) -> str:
    code, out, err = invoke(*arguments)
    assert (code, err) == (0, ""), err
    return out


@pytest.fixture
def seven(tmp_path: Path) -> Path:
    """A scan of a 7, as a picture of 0 to 255 four times as large."""
    with np.load(DIGITS / "digits_test.npz") as split:
        scan = split["images"][split["labels"].tolist().index(7)]
    large = np.kron(np.minimum(scan.astype(int) * 16, 255).astype(np.uint8), np.ones((4, 4), np.uint8))
    Image.fromarray(large).save(tmp_path / "seven.png")
    return tmp_path / "seven.png"


@pytest.fixture
def names(tmp_path: Path) -> Path:
    words = "zero one two three four five six seven eight nine"
    (tmp_path / "names.txt").write_text("\n".join(words.split()))
    return tmp_path / "names.txt"


def test_picture(seven: Path, names: Path) -> None:
    lines = shown(QUANT, seven, "--labels", names, "--top", "3").splitlines()
    assert lines[0].startswith("seven.png: seven (")
    assert "nnapi-reference, " in lines[0]
    assert re.search(r"ms \(first [0-9.e-]+ ms, inputs [0-9.e-]+ ms\)$", lines[0])
    assert lines[1] == "  32×32 resized to 8×8 (bilinear), gray, pixels 0 to 255 as quantized values -128 to 127"
    assert lines[2].endswith("seven")
    assert len([line for line in lines if line]) == 5


def test_picture_for_a_float_model(seven: Path) -> None:
    text = shown(FLOAT, seven, "--mean", "0", "--std", "255")
    assert text.startswith("seven.png: class 7 (")
    assert "pixels scaled to 0 to 1" in text


def test_several_pictures_are_several_runs(seven: Path) -> None:
    text = shown(QUANT, seven, seven)
    assert text.count("seven.png: class 7 (") == 2


def test_array(tmp_path: Path) -> None:
    np.save(tmp_path / "scan.npy", np.zeros((8, 8, 1)))
    text = shown(QUANT, tmp_path / "scan.npy")
    assert text.startswith("scan.npy: class ")
    assert "float64, quantized" in text


def test_random_input_says_so() -> None:
    text = shown(QUANT, "--seed", "4")
    assert text.startswith("random input (seed 4): class ")
    assert "quantized values from -128 to 127" in text
    assert text.splitlines()[2:] == shown(QUANT, "--seed", "4").splitlines()[2:]
    assert text.splitlines()[2:] != shown(QUANT, "--seed", "5").splitlines()[2:]


def test_json(seven: Path, names: Path) -> None:
    found = json.loads(shown(QUANT, seven, "--labels", names, "--top", "2", "--json"))
    assert found["devices"] == ["nnapi-reference"]
    (run,) = found["runs"]
    assert run["inputs"][0]["source"] == "seven.png"
    assert run["seen"].startswith("seven (")
    assert run["seconds"] > 0
    assert run["classes"][0]["label"] == "seven"
    assert len(run["classes"]) == 2
    assert run["classes"][0]["score"] is None
    assert run["outputs"][0]["shape"] == [1, 10]
    assert run["outputs"][0]["max"] == pytest.approx(run["classes"][0]["probability"])


def test_outputs_are_written(tmp_path: Path, seven: Path) -> None:
    shown(QUANT, seven, "--output", tmp_path / "out")
    array = np.load(tmp_path / "out" / "seven-output0.npy")
    assert (array.dtype, array.shape, array.argmax()) == (np.int8, (1, 10), 7)
    shown(QUANT, seven, seven, "--output", tmp_path / "both")
    assert sorted(path.name for path in (tmp_path / "both").iterdir()) == [
        "1-seven-output0.npy",
        "1-seven-seen.png",
        "2-seven-output0.npy",
        "2-seven-seen.png",
    ]
    shown(QUANT, "--output", tmp_path / "none")
    assert [path.name for path in (tmp_path / "none").iterdir()] == ["random-output0.npy"]


def test_device_by_name() -> None:
    assert "nnapi-reference" in shown(QUANT, "--device", "nnapi-reference")


def test_no_time_of_a_substitute_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    timed = shown(QUANT, "--device", "nnapi-reference").splitlines()[0]
    monkeypatch.setattr(nnapi.Device, "substitute", "only pretended")
    first, *_, last = shown(QUANT, "--device", "nnapi-reference").splitlines()
    assert timed.startswith(f"{first}, ")
    assert last == "  nnapi-reference is only pretended"
    found = json.loads(shown(QUANT, "--device", "nnapi-reference", "--json"))
    assert found["notes"] == [last.strip()]
    (run,) = found["runs"]
    assert (run["seconds"], run["first_seconds"]) == (None, None)


def both_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every file be a model that adds its inputs "left" and "right"."""
    model = nnapi.Model("sum")
    for name in ("left", "right"):
        model.add_operand(nnapi.tensor("float32", (1, 2)), name)
    model.add_operand(nnapi.OperandType(nnapi.OperandCode.INT32))
    model.set_operand_value(2, 0)
    model.add_operand(nnapi.tensor("float32", (1, 2)), "sum")
    model.add_operation(nnapi.OperationCode.ADD, [0, 1, 2], [3])
    model.identify_inputs_and_outputs([0, 1], [3])
    model.finish()
    monkeypatch.setattr(nnapi, "load", lambda *_, **options: model)


def test_a_file_for_each_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both_parts(monkeypatch)
    np.save(tmp_path / "a.npy", np.array([1, 2], np.float32))
    np.save(tmp_path / "b.npy", np.array([10, 30]))
    lines = shown("sum.tflite", tmp_path / "a.npy", tmp_path / "b.npy").splitlines()
    assert lines[0].startswith("a.npy + b.npy: sum has 1×2 values from 11 to 32, mean 21.5  nnapi-reference, ")
    assert lines[1:3] == ["  a.npy: float32 as it is", "  b.npy: int64, converted to float32"]
    assert lines[4].split() == ["sum", "TENSOR_FLOAT32", "[1,", "2]", "11", "32", "21.5", "[0,", "1],", "[0,", "0]"]


def test_random_values_for_each_input(monkeypatch: pytest.MonkeyPatch) -> None:
    both_parts(monkeypatch)
    assert shown("sum.tflite").startswith("random input (seed 0): sum has ")


def test_files_and_labels_that_do_not_fit_the_model(monkeypatch: pytest.MonkeyPatch, names: Path) -> None:
    both_parts(monkeypatch)
    code, _, err = invoke("sum.tflite", "a.npy")
    assert (code, err) == (
        2,
        "nnapi: the model has 2 inputs (left [1, 2], right [1, 2]), so give 2 files or none, not 1\n",
    )
    code, _, err = invoke("sum.tflite", "--labels", names)
    assert (code, err) == (2, "nnapi: names.txt cannot be used: the model is not a classifier\n")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["nowhere.tflite"], 2, "nowhere.tflite: No such file or directory"),
        ([QUANT, "nowhere.png"], 2, "nowhere.png: No such file or directory"),
        ([QUANT, "--device", "npu"], 4, "no device 'npu'; there are: "),
        ([QUANT, FLOAT], 3, "digits_float.tflite for "),
        ([QUANT, "--labels", FLOAT], 3, "digits_float.tflite is not text"),
        ([QUANT, "--labels", DIGITS / "README.md"], 3, "the model distinguishes 10"),
        ([QUANT, "--std", "0"], 2, "no value may be 0"),
        ([QUANT, "--mean", "a,b"], 2, "'a,b' must be one number, or several separated by commas"),
        ([QUANT, "--mean", "1,2"], 2, ""),
        ([QUANT, "--top", "0"], 2, "--top"),
        ([], 2, "Missing argument"),
    ],
)
def test_mistakes(arguments: list[str | Path], code: int, words: str, seven: Path) -> None:
    if "1,2" in arguments:
        arguments, words = [*arguments, seven], "2 numbers for 1 channels"
    found, out, err = invoke(*arguments)
    assert (found, out) == (code, "")
    assert err.startswith("nnapi: ")
    assert words in err
    assert err.count("\n") == 1
    assert "should not happen" not in err


def test_a_classifier_writes_a_caption(seven: Path, tmp_path: Path) -> None:
    shown(QUANT, seven, "--picture", tmp_path / "out.png")
    with Image.open(tmp_path / "out.png") as drawn:
        assert drawn.width == 32
        assert drawn.height > 32


def test_a_drawing_needs_a_picture(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["run", "digits", "--picture", str(tmp_path / "out.png")])
    assert result.exit_code == 2
    assert result.stderr == f"nnapi: {tmp_path / 'out.png'} is not written: no input is a picture in a file\n"


def test_range_and_guesses_are_said(seven: Path) -> None:
    assert "pixels scaled to 0 to 1\n" in shown(FLOAT, seven, "--range", "0,1")
    assert "(guessed: " in shown(FLOAT, seven)
    assert invoke(FLOAT, seven, "--range", "0,1", "--mean", "3")[2].startswith(
        "nnapi: --range and --mean/--std exclude each other"
    )
    assert "must be two different numbers" in invoke(FLOAT, seven, "--range", "1,1")[2]


def test_the_time_of_a_run_is_its_own(monkeypatch: pytest.MonkeyPatch, seven: Path) -> None:
    """Each look at the clock is a second later than the one before, and those of the first run are ten."""
    ticks = iter([0.0, 0.01, 0.11, 1.0, 1.004, 2.0, 2.003, 3.0, 3.005])
    for module in (batch, timing, stopwatch):
        monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=lambda: next(ticks)))
    (run,) = json.loads(shown(QUANT, seven, "--json"))["runs"]
    found = [run[key] for key in ("preparation_seconds", "first_seconds", "seconds")]
    assert found == pytest.approx([0.01, 0.1, 0.003])


def test_outputs_that_no_family_has(monkeypatch: pytest.MonkeyPatch, seven: Path) -> None:
    b = nnapi.Builder()
    image = b.input(nnapi.tensor("float32", (1, 8, 8, 1)))
    b.output(b.mul(image, image))
    model = b.finish()
    monkeypatch.setattr(nnapi, "load", lambda *_, **options: model)
    text = shown("square.tflite", seven)
    assert "position of maximum" in " ".join(text.split())
    assert "The file does not specify the meaning of these outputs. They can be shown with --as segmentation" in text
    assert "--as depth" in text
    assert "depths from" in shown("square.tflite", seven, "--as", "depth")


def test_threads(seven: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = []
    compile_model = nnapi.compile

    def compile_with(*arguments: Any, **options: Any) -> Any:
        given.append(options["threads"])
        return compile_model(*arguments, **options)

    monkeypatch.setattr(nnapi, "compile", compile_with)
    shown(QUANT, seven, "--threads", "1")
    assert given == [1]


@pytest.mark.shared
@pytest.mark.parametrize(
    ("network", "words"),
    [
        ("models/tflm_micro_speech_int8", "49×40 spectrogram energies"),
        ("models-2/yamnet_spectra_in_int8", "96×64 log-mel energies"),
        ("models/tiny_kws_float", "49×10 cepstral coefficients"),
    ],
)
def test_a_recording_for_features_is_refused(shared: Path, network: str, words: str) -> None:
    for file in ("nns_yes.wav", "cat.bmp"):
        code, _, err = invoke(shared / f"{network}.tflite", shared / "images" / file)
        assert code == 3
        assert words in err


@pytest.mark.slow
@pytest.mark.shared
def test_score(shared: Path) -> None:
    words = shared / "models-2/ssd_mobilenet_v2_fpnlite_320.tflite", shared / "images/cats_and_dogs.jpg"
    assert "nothing (most likely: class 4, score 0." in shown(*words, "--score", "0.6")
    assert ": 1 × class 4  " in shown(*words, "--score", "0.35")


@pytest.mark.shared
def test_a_bird_of_cifar_10(shared: Path) -> None:
    text = shown(shared / "models/tiny_resnet8_float.tflite", shared / "images/bird.bmp")
    assert text.startswith("bird.bmp: bird (")
    assert "class names are those of CIFAR-10, guessed from the number of classes, 10; --labels sets others" in text


IMAGENET = {
    "bird.bmp": "chickadee",
    "grace_hopper.bmp": "military uniform",
    "burger.jpg": "cheeseburger",
    "nns_orange.png": "orange",
    "cat.bmp": "cat",
}
CATS = range(282, 287)
NETWORKS = [
    "mobilenet_v1_0.75_192_quant",
    "mobilenet_v2_1.0_224_quant",
    "tf2_mobilenet_v2_1.0_224_ptq",
    "deq_mobilenet_v2_1.0_224_float",
]


def list_pictures(network: str) -> list[str]:
    """All pictures for the first network, which is the fastest; one for the others, whose runs take a second."""
    return list(IMAGENET)[: None if network == NETWORKS[0] else 1]


@cache
def classify(shared: Path, network: str) -> list[dict[str, Any]]:
    pictures = [shared / "images" / name for name in list_pictures(network)]
    labels = shared / "images" / "imagenet_labels.txt"
    found = shown(shared / "models" / f"{network}.tflite", *pictures, "--labels", labels, "--json")
    return list(json.loads(found)["runs"])


@pytest.mark.slow
@pytest.mark.shared
@pytest.mark.parametrize("network", NETWORKS)
def test_imagenet(shared: Path, network: str) -> None:
    for run, name in zip(classify(shared, network), list_pictures(network), strict=True):
        first, expected = run["classes"][0], IMAGENET[name]
        assert run["seen"].startswith(first["label"].split(",")[0])
        right = first["index"] in CATS if expected == "cat" else first["label"].split(",")[0] == expected
        assert right, f"{name}: {run['seen']}"


@pytest.mark.slow
@pytest.mark.shared
@pytest.mark.engine
@pytest.mark.parametrize("network", NETWORKS)
def test_imagenet_as_litert_sees_it(shared: Path, network: str) -> None:
    interpreters = pytest.importorskip("ai_edge_litert.interpreter", reason="ai-edge-litert is not installed")
    file = shared / "models" / f"{network}.tflite"
    model = nnapi.load(file)
    interpreter = interpreters.Interpreter(str(file))
    interpreter.allocate_tensors()
    for run, name in zip(classify(shared, network), list_pictures(network), strict=True):
        image = read_input(shared / "images" / name, model.operands[model.inputs[0]], Pixels()).array
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], image)
        interpreter.invoke()
        theirs = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
        assert run["classes"][0]["index"] == theirs.argmax(), name
