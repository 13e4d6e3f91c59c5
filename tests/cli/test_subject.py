"""Facts about the model of `nnapi run`: names of classes and guesses."""

from pathlib import Path

import numpy as np
import pytest

import nnapi
from nnapi.cli.run_options import RunOptions
from nnapi.cli.subject import _labels, count_labels, load_subject
from nnapi.errors import Mistake
from nnapi.vision.file_metadata import Description
from nnapi.vision.task import Task
from tests.vision.family_cases import model_of

DIGITS = Path(__file__).parents[2] / "examples/digits/digits_float.tflite"


def test_options_come_before_guesses(tmp_path: Path) -> None:
    (tmp_path / "names.txt").write_text("\n".join("abcdefghij"))
    found = load_subject(RunOptions(DIGITS, labels=tmp_path / "names.txt", score=0.7, range="0,1"))
    assert found.hints.labels == list("abcdefghij")
    assert found.hints.least == 0.7
    assert (found.pixels.mean, found.pixels.std, found.pixels.reason) == ((0.0,), (255.0,), "")
    assert found.notes == ()


def test_a_guess_has_a_note() -> None:
    found = load_subject(RunOptions(DIGITS, task=Task.LANDMARKS))
    assert found.task is Task.LANDMARKS
    assert len(found.notes) == 1


@pytest.mark.parametrize(
    ("shape", "task", "count"),
    [
        ((1, 1001), None, 1001),
        ((1, 1, 1, 50), Task.CLASSIFICATION, 50),
        ((1, 8, 8, 21), Task.SEGMENTATION, 21),
        ((1, 10, 4), Task.DETECTION, None),
    ],
)
def test_counts_of_classes(shape: tuple[int, ...], task: Task | None, count: int | None) -> None:
    assert count_labels(model_of(("float32", shape)), task) == count


def named(folder: Path, *names: str) -> Path:
    (folder / "names.txt").write_text("\n".join(names))
    return folder / "names.txt"


def detector(classes: int, has_background: bool) -> nnapi.Model:
    """Boxes of 4 anchors, with one score for each class, and one for the background if ``has_background``."""
    b = nnapi.Builder("detector")
    x = b.input(nnapi.tensor("float32", (1, 4, classes + has_background)))
    boxes, anchors = np.zeros((1, 4, 4), np.float32), np.zeros((4, 4), np.float32)
    arguments = x, boxes, anchors, 10.0, 10.0, 5.0, 5.0, False, 3, 1, 3, 0.5, 0.5
    if has_background:
        results = b.detection_postprocessing(*arguments, False)
    else:
        results = b.detection_postprocessing_v2(*arguments)
    for each in results:
        b.output(each)
    return b.finish()


@pytest.mark.parametrize("has_background", [False, True])
@pytest.mark.parametrize(
    ("names", "fitted"),
    [
        (("cat", "dog", "bird"), ["cat", "dog", "bird"]),
        (("???", "cat", "dog", "bird"), ["cat", "dog", "bird"]),
        (("background", "cat", "dog", "bird"), ["cat", "dog", "bird"]),
        (("cat", "dog"), None),
        (("cat", "dog", "bird", "cow"), None),
    ],
)
def test_labels_of_a_detector_are_one_for_each_class(
    names: tuple[str, ...], fitted: list[str] | None, has_background: bool, tmp_path: Path
) -> None:
    """A detector of 8 classes once took COCO's 90 names, and called a cat an airplane."""
    model, file = detector(3, has_background), named(tmp_path, *names)
    if fitted is None:
        with pytest.raises(Mistake, match=f"names.txt names {len(names)} classes, the model distinguishes 3"):
            _labels(model, file, Task.DETECTION, Description())
    else:
        assert _labels(model, file, Task.DETECTION, Description()) == (fitted, [])


@pytest.mark.parametrize("task", [Task.SEGMENTATION, Task.AUDIO_EVENTS, Task.CLASSIFICATION])
def test_labels_of_another_model_are_refused(task: Task, tmp_path: Path) -> None:
    model = model_of(("float32", (1, 8, 8, 21) if task is Task.SEGMENTATION else (1, 21)))
    assert _labels(model, named(tmp_path, *"abcdefghijklmnopqrstu"), task, Description())[0] == list(
        "abcdefghijklmnopqrstu"
    )
    with pytest.raises(Mistake, match="names.txt names 2 classes, the model distinguishes 21"):
        _labels(model, named(tmp_path, "a", "b"), task, Description())


def test_a_mask_of_one_thing_takes_its_name(tmp_path: Path) -> None:
    found = _labels(model_of(("float32", (1, 8, 8, 1))), named(tmp_path, "hair"), Task.SEGMENTATION, Description())
    assert found == (["hair"], [])


def test_an_unknown_number_of_classes_is_told(tmp_path: Path) -> None:
    found = _labels(model_of(("float32", (1, 10, 4))), named(tmp_path, "a", "b"), Task.DETECTION, Description())
    assert found == (["a", "b"], ["names.txt names 2 classes; how many the model distinguishes is unknown"])


def test_labels_in_the_file_that_do_not_fit_are_not_used(capsys: pytest.CaptureFixture[str]) -> None:
    metadata = Description(labels=("a", "b"))
    assert _labels(detector(3, True), None, Task.DETECTION, metadata) == (None, [])
    assert "its labels are not used: the model's file names 2 classes, the model dist" in capsys.readouterr().err


@pytest.mark.shared
def test_names_of_known_data_sets(shared: Path) -> None:
    found = load_subject(RunOptions(shared / "models/ssd_mobilenet_v1_coco_quant.tflite"))
    assert found.hints.labels is not None
    assert found.hints.labels[16:18] == ["cat", "dog"]
    assert found.notes[0].startswith("class names are those of COCO, guessed from the number of classes, 91")
    found = load_subject(RunOptions(shared / "models-2/deeplabv3_ade20k_uint8.tflite"))
    assert found.hints.labels is not None
    assert (found.hints.labels[3], found.hints.labels[13], len(found.hints.labels)) == ("sky", "person", 32)
