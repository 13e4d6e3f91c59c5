"""Many inputs: folders, files with a line for each run, and what cannot be read."""

import json
import wave
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import nnapi
from nnapi.cli import app
from nnapi.cli.batch import RunLog, list_files, run_batch
from nnapi.cli.inputs import FinishedRun, read_inputs
from nnapi.errors import Mistake
from nnapi.vision.pictures import Pixels

QUANT = Path(__file__).parents[2] / "examples/digits/digits_quant.tflite"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three pictures, one damaged, and notes."""
    made = tmp_path / "pictures"
    made.mkdir()
    for number in range(3):
        pixels = np.random.default_rng(number).integers(0, 256, (8, 8), np.uint8)
        Image.fromarray(pixels).save(made / f"{number}.png")
    (made / "1b.png").write_bytes((made / "1.png").read_bytes()[:60])
    (made / "notes.txt").write_text("no picture")
    return made


def run(*words: str | Path) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["run", *map(str, words)])
    return result.exit_code, result.stdout, result.stderr


def lines_of(file: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_a_folder_stands_for_its_files(folder: Path, tmp_path: Path) -> None:
    names = ["0.png", "1.png", "1b.png", "2.png"]
    assert [file.name for file in list_files([folder, QUANT])] == [*names, "digits_quant.tflite"]
    (tmp_path / "none").mkdir()
    with pytest.raises(Mistake, match=r"none has no pictures, .npy or .wav files"):
        list_files([tmp_path / "none"])


def test_results_come_in_order_and_are_those_of_single_runs(folder: Path) -> None:
    (folder / "1b.png").unlink()
    alone = [run(QUANT, folder / f"{number}.png", "--json")[1] for number in range(3)]
    together = json.loads(run(QUANT, folder, "--json")[1])["runs"]
    assert [each["classes"] for each in together] == [json.loads(one)["runs"][0]["classes"] for one in alone]
    assert [each["inputs"][0]["source"] for each in together] == ["0.png", "1.png", "2.png"]


def test_a_file_that_cannot_be_read_does_not_end_the_others_runs(folder: Path, tmp_path: Path) -> None:
    code, out, err = run(QUANT, folder, "--output", tmp_path / "out")
    reason, summary = err.splitlines()
    assert (code, summary) == (3, "nnapi: 1 of 4 runs failed")
    assert reason.startswith("nnapi: 1b.png for ")
    assert [line.split(":")[0] for line in out.splitlines() if ".png: " in line] == ["0.png", "1.png", "2.png"]
    assert [file.name for file in (tmp_path / "out").glob("*-seen.png")].count("4-2-seen.png") == 1


def test_json_has_the_reason_beside_the_results(folder: Path) -> None:
    code, out, err = run(QUANT, folder, "--json")
    assert (code, err.splitlines()[-1]) == (3, "nnapi: 1 of 4 runs failed")
    runs = json.loads(out)["runs"]
    assert [each["inputs"][0]["source"] for each in runs] == ["0.png", "1.png", "1b.png", "2.png"]
    assert runs[2]["error"].startswith("1b.png for ")
    assert [index for index, each in enumerate(runs) if "error" in each] == [2]


def test_a_run_of_its_own_that_fails_ends_with_its_own_code(folder: Path) -> None:
    code, out, err = run(QUANT, folder / "1b.png", "--json")
    assert (code, out, err.count("\n")) == (3, "", 1)


def test_one_recording_of_several_that_cannot_be_read(tmp_path: Path) -> None:
    """Recordings are cut into windows, and each file is a run."""
    b = nnapi.Builder("loudness")
    samples = b.input(nnapi.tensor("float32", (1, 4000)), "samples")
    weights = np.zeros((2, 4000), np.float32)
    b.output(b.softmax(b.fully_connected(samples, weights, np.zeros(2, np.float32)), 1.0))
    nnapi.export(b.finish(), tmp_path / "sound.tflite")
    for name, content in (("1", b"\x00\x10" * 8000), ("2", b""), ("3", b"\x00\x20" * 8000)):
        with wave.open(str(tmp_path / f"{name}.wav"), "wb") as recording:
            recording.setparams((1, 2, 16000, 0, "NONE", ""))
            recording.writeframes(content)
    files = [tmp_path / f"{name}.wav" for name in "123"]
    code, out, err = run(tmp_path / "sound.tflite", *files, "-d", "nnapi-reference", "--json")
    assert (code, err.splitlines()[-1]) == (3, "nnapi: 1 of 3 runs failed")
    assert ["error" in each for each in json.loads(out)["runs"]] == [False, True, False]


def test_kept_batches_go_on(folder: Path, tmp_path: Path) -> None:
    log = tmp_path / "runs.jsonl"
    assert run(QUANT, folder / "1.png", "--jsonl", log)[:2] == (0, f"1 run in {log}\n")
    first = log.read_text()
    with log.open("a") as opened:
        opened.write('{"model": "digits_quant.tfl')  # killed while it wrote
    code, out, err = run(QUANT, folder, "--jsonl", log)
    assert (code, out) == (3, f"3 runs in {log}, 1 succeeded before\n")
    assert err == f"nnapi: 1 of 3 runs failed; {log} has the reasons\n"
    assert log.read_text().startswith(first)
    found = lines_of(log)
    assert [Path(line["files"][0]).name for line in found] == ["1.png", "0.png", "1b.png", "2.png"]  # type: ignore[index]
    assert str(found[2]["error"]).startswith("1b.png for ")
    assert all(line["model"] == "digits_quant.tflite" for line in found)
    assert found[3]["seen"] == json.loads(run(QUANT, folder / "2.png", "--json")[1])["runs"][0]["seen"]
    code, out, _ = run(QUANT, folder, "--jsonl", log)
    assert (code, out) == (3, f"1 run in {log}, 3 succeeded before, 1 failed before and ran again\n")
    assert [Path(line["files"][0]).name for line in lines_of(log)] == ["1.png", "0.png", "2.png", "1b.png"]  # type: ignore[index]
    (folder / "1b.png").write_bytes((folder / "1.png").read_bytes())
    code, out, _ = run(QUANT, folder, "--jsonl", log)
    assert (code, out) == (0, f"1 run in {log}, 3 succeeded before, 1 failed before and ran again\n")
    whole = log.read_text()
    assert "error" not in whole
    assert run(QUANT, folder, "--jsonl", log) == (0, f"0 runs in {log}, 4 succeeded before\n", "")
    assert log.read_text() == whole


def test_files_that_are_not_continued(tmp_path: Path) -> None:
    log = tmp_path / "runs.jsonl"
    log.write_text('{"model": "other.tflite", "files": []}\n')
    with pytest.raises(Mistake, match=r"cannot be continued: line 1 is a run of other.tflite, not of mine.tflite"):
        RunLog(log, "mine.tflite")
    for line in ("[" * 100_000, "notes"):
        log.write_text(f"{line}\n")
        with pytest.raises(Mistake, match=r"cannot be continued: line 1 was not written by --jsonl"):
            RunLog(log, "mine.tflite")
    assert run(QUANT, "--jsonl", log)[0] == 3
    assert log.read_text() == "notes\n"


def test_the_first_run_is_alone_and_timed(folder: Path) -> None:
    compilation = nnapi.compile(nnapi.load(QUANT), "nnapi-reference")
    read = partial(read_inputs, compilation.model, pixels=Pixels())
    first, second, bad, last = run_batch(compilation, [[file] for file in list_files([folder])], read)
    assert isinstance(first, FinishedRun)
    assert first.seconds is not None
    assert isinstance(second, FinishedRun)
    assert second.seconds is None
    assert isinstance(bad, Mistake)
    assert isinstance(last, FinishedRun)
    np.testing.assert_array_equal(last.outputs[0], compilation.run(last.inputs[0].array)[0])
