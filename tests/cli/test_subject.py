"""Facts about the model of `nnapi run`: names of classes and guesses."""

from pathlib import Path

import pytest

from nnapi.cli.run_options import RunOptions
from nnapi.cli.subject import count_labels, load_subject
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


@pytest.mark.shared
def test_names_of_known_data_sets(shared: Path) -> None:
    found = load_subject(RunOptions(shared / "models/ssd_mobilenet_v1_coco_quant.tflite"))
    assert found.hints.labels is not None
    assert found.hints.labels[16:18] == ["cat", "dog"]
    assert found.notes[0].startswith("class names are those of COCO, guessed from the number of classes, 91")
    found = load_subject(RunOptions(shared / "models-2/deeplabv3_ade20k_uint8.tflite"))
    assert found.hints.labels is not None
    assert (found.hints.labels[3], found.hints.labels[13], len(found.hints.labels)) == ("sky", "person", 32)
