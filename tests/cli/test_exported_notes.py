"""Metadata of a file in the file that `nnapi export` writes, in the same and in the other format."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from nnapi.cli import app
from nnapi.formats.tflite.metadata import read_associated_files, read_block
from nnapi.vision.file_metadata import Description, describe, read_properties
from nnapi.vision.pictures import Pixels
from nnapi.vision.task import Task
from tests.formats.tflite.metadata_cases import append_files, block
from tests.vision.test_file_metadata import classifier

LABELS = "red\ngreen\nblue"
BLOCK = block(mean=[10.0], std=[20.0], labels=[("labels.txt", "")], threshold=0.25)
WHOLE = Description(Task.CLASSIFICATION, Pixels((10.0,), (20.0,)), ("red", "green", "blue"), 0.25)


def export(source: Path, target: Path, *more: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["export", str(source), "-o", str(target), *more])
    return done.exit_code, done.stderr


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "source.tflite").write_bytes(
        append_files(classifier(BLOCK), {"labels.txt": LABELS, "more.txt": "more"})
    )
    return tmp_path / "source.tflite"


def test_in_the_same_format_it_is_kept_as_it_is(source: Path, tmp_path: Path) -> None:
    assert export(source, out := tmp_path / "out.tflite") == (0, "")
    assert read_block(memoryview(out.read_bytes())) == BLOCK
    assert read_associated_files(out) == {"labels.txt": LABELS.encode(), "more.txt": b"more"}
    assert describe(out) == describe(source) == WHOLE


def test_through_the_other_format_and_back_it_says_the_same(source: Path, tmp_path: Path) -> None:
    pytest.importorskip("onnx", reason="onnx is not installed")
    one, two, three = tmp_path / "one.onnx", tmp_path / "two.onnx", tmp_path / "three.tflite"
    assert export(source, one) == export(one, two) == export(two, three) == (0, "")
    assert describe(one) == describe(two) == describe(three) == WHOLE
    assert read_properties(one) == read_properties(two)
    assert read_properties(one)[1].startswith("what it is for")


@pytest.mark.parametrize(
    ("mean", "std", "found"), [(0.0, 255.0, "Normalized_0_1"), (127.5, 127.5, "Normalized_1_1"), (1.0, 2.0, None)]
)
def test_usual_ranges_have_the_names_of_the_standard(
    mean: float, std: float, found: str | None, tmp_path: Path
) -> None:
    pytest.importorskip("onnx", reason="onnx is not installed")
    (tmp_path / "in.tflite").write_bytes(classifier(block(mean=[mean], std=[std])))
    assert export(tmp_path / "in.tflite", out := tmp_path / "out.onnx") == (0, "")
    assert read_properties(out)[0].get("Image.NominalPixelRange") == found
    assert describe(out).pixels == Pixels((mean,), (std,))


def test_sound_keeps_its_rate_and_lost_anchors_are_told(tmp_path: Path) -> None:
    pytest.importorskip("onnx", reason="onnx is not installed")
    (tmp_path / "in.tflite").write_bytes(classifier(block(content=4, rate=16000, anchors=[[0.1, 0.2, 0.3, 0.4]])))
    code, said = export(tmp_path / "in.tflite", out := tmp_path / "out.onnx")
    assert (code, said) == (0, "nnapi: the anchors of boxes are not written: .onnx files have no place for them\n")
    assert describe(out).sample_rate == 16000
    assert export(out, back := tmp_path / "back.tflite") == (0, "")
    assert describe(back).sample_rate == 16000


def test_damaged_metadata_is_not_copied(tmp_path: Path) -> None:
    """Its archive names a file that cannot be read."""
    damaged = bytearray(append_files(classifier(BLOCK), {"labels.txt": LABELS}))
    damaged[damaged.rindex(LABELS.encode())] ^= 1  # in the archive, whose checksum then differs
    (tmp_path / "in.tflite").write_bytes(damaged)
    code, said = export(tmp_path / "in.tflite", out := tmp_path / "out.tflite")
    assert code == 0
    assert said.startswith("nnapi: in.tflite: its metadata is not written: labels.txt")
    assert read_block(memoryview(out.read_bytes())) is None


def test_the_model_itself_is_replaced_only_on_demand(source: Path, tmp_path: Path) -> None:
    before = source.read_bytes()
    (tmp_path / "link.tflite").symlink_to(source)
    for target in (source, tmp_path / "link.tflite", tmp_path):
        target = target if target.suffix else target / "." / source.name
        code, said = export(source, target)
        assert (code, source.read_bytes()) == (2, before)
        assert said.endswith(" is the file that is read: name another file, or let --force replace it\n")
    assert export(source, source, "--force") == (0, "")
    assert describe(source) == WHOLE
    done = CliRunner().invoke(app, ["migrate", str(source), "-o", str(tmp_path)])
    assert (done.exit_code, done.stderr) == (2, f"nnapi: {source} is the file that is read: name another folder\n")


def test_a_picture_is_not_drawn_over_its_input(source: Path, tmp_path: Path) -> None:
    from PIL import Image

    Image.new("RGB", (4, 4)).save(picture := tmp_path / "in.png")
    done = CliRunner().invoke(app, ["run", str(source), str(picture), "--picture", str(picture)])
    assert (done.exit_code, done.stderr) == (2, f"nnapi: {picture} is the file that is read: name another picture\n")
