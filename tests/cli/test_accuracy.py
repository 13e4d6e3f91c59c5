"""Accuracy on labeled inputs, from files to metrics."""

from pathlib import Path

import numpy as np
import pytest

import nnapi
from nnapi.cli.accuracy import find_detector_outputs, make_judge
from nnapi.errors import Mistake
from nnapi.report.accuracy import Boxes
from nnapi.report.dataset import Example
from tests.graphs import finished_sum
from tests.importers.tflite.efficientdet_cases import POST_PROCESS, EfficientDet

DIGITS = Path(__file__).parents[2] / "examples" / "digits"
NO_BOX = Boxes(np.zeros((0, 4)), np.zeros(0, int), np.zeros(0))


@pytest.fixture(scope="module")
def digits() -> nnapi.Model:
    return nnapi.load(DIGITS / "digits_quant.tflite")


@pytest.fixture
def scans(tmp_path: Path) -> list[Example]:
    """Twenty scans of digits, as .npy files of numbers."""
    with np.load(DIGITS / "digits_test.npz") as split:
        images, labels = split["images"][:20], split["labels"][:20]
    for number, image in enumerate(images):
        np.save(tmp_path / f"{number}.npy", image.reshape(1, 8, 8, 1) / 16.0)
    return [Example(tmp_path / f"{number}.npy", int(label)) for number, label in enumerate(labels)]


def test_a_classifier(digits: nnapi.Model, scans: list[Example]) -> None:
    compilation = nnapi.compile(digits)
    found = make_judge(digits, scans)(lambda inputs: compilation.run(*inputs))
    assert found["top-1"] >= 0.9
    assert found["top-5"] == 1.0
    wrong = [Example(example.file, (example.truth + 1) % 10) for example in scans if isinstance(example.truth, int)]
    assert make_judge(digits, wrong)(lambda inputs: compilation.run(*inputs))["top-1"] <= 0.1


def test_wanted_values_are_real_numbers(digits: nnapi.Model, scans: list[Example], tmp_path: Path) -> None:
    np.save(tmp_path / "want.npy", np.full((1, 10), 0.5))
    codes = np.full((1, 10), 0, np.int8)  # 0.5 with a scale of 1/256 and a zero point of -128
    found = make_judge(digits, [Example(scans[0].file, (tmp_path / "want.npy",))])(lambda _: [codes])
    assert found == {"mean squared error": pytest.approx(0, abs=1e-9)}
    found = make_judge(digits, [Example(scans[0].file, (tmp_path / "want.npy",))])(lambda _: [codes + np.int8(64)])
    assert found == {"mean squared error": pytest.approx(1 / 16)}


@pytest.mark.parametrize(
    ("truth", "message"),
    [
        (10, "the data set has label 10, but digits_quant has only 10 classes"),
        (NO_BOX, "the data set has boxes, but digits_quant does not end with DETECTION_POSTPROCESSING"),
        (
            (Path(__file__), Path(__file__)),
            "digits_quant has 1 output, but an example of the data set expects another number",
        ),
    ],
)
def test_labels_that_do_not_fit(
    digits: nnapi.Model, truth: int | Boxes | tuple[Path, ...], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(np, "load", lambda *_, **__: np.zeros(10))
    with pytest.raises(Mistake, match=message):
        make_judge(digits, [Example(Path("x"), truth)])


def test_models_that_do_not_fit() -> None:
    with pytest.raises(Mistake, match="a model with one input, but sum has 2"):
        make_judge(finished_sum(), [Example(Path("x"), 1)])


def test_outputs_of_a_detector_without_a_background(tmp_path: Path) -> None:
    file = tmp_path / "detector.tflite"
    file.write_bytes(EfficientDet(POST_PROCESS).content())
    assert find_detector_outputs(nnapi.load(file)) == (2, 0, 1, 3)


@pytest.mark.slow
@pytest.mark.shared
def test_a_detector_sees_its_own_boxes(shared: Path) -> None:
    model = nnapi.load(shared / "models" / "ssd_mobilenet_v1_coco_quant.tflite")
    assert find_detector_outputs(model) == (2, 0, 1, 3)
    compilation = nnapi.compile(model, "nnapi-reference")
    outputs: list[np.ndarray] = []

    def run(inputs: list[np.ndarray]) -> list[np.ndarray]:
        outputs[:] = compilation.run(*inputs)
        return outputs

    picture = shared / "images" / "cats_and_dogs.jpg"
    make_judge(model, [Example(picture, NO_BOX_BUT_ONE)])(run)  # type: ignore[arg-type]
    sure = outputs[2][0] > 0.5
    assert sure.sum() >= 2
    truth = Boxes(outputs[0][0][sure].astype(float), outputs[1][0][sure].astype(int), np.ones(int(sure.sum())))
    assert make_judge(model, [Example(picture, truth)])(run)["mAP@[.5:.95]"] == pytest.approx(1.0)  # type: ignore[arg-type]


NO_BOX_BUT_ONE = Boxes(np.array([[0.0, 0.0, 0.01, 0.01]]), np.array([89]), np.ones(1))
