"""The text of a run whose task is given."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nnapi.cli import app

FLOAT = Path(__file__).parents[2] / "examples/digits/digits_float.tflite"


def run(*words: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["run", str(FLOAT), *words])
    return result.exit_code, result.stdout, result.stderr


def test_an_embedding_is_no_class() -> None:
    code, out, _ = run("--as", "embedding")
    assert code == 0
    assert out.startswith("random input (seed 0): 10 dimensions, norm ")
    assert "class" not in out


def test_two_embeddings_are_compared(tmp_path: Path) -> None:
    import numpy as np

    files = []
    for number in range(2):
        np.save(tmp_path / f"{number}.npy", np.random.default_rng(number).random((1, 8, 8, 1), np.float32))
        files.append(str(tmp_path / f"{number}.npy"))
    _, out, _ = run(*files, "--as", "embedding", "-o", str(tmp_path / "out"))
    first, second = (np.load(tmp_path / f"out/{n}-{n - 1}-output0.npy").ravel() for n in (1, 2))
    cosine = float(first @ second / np.linalg.norm(first) / np.linalg.norm(second))
    assert f"0.npy and 1.npy: cosine similarity {cosine:.4f}" in out
    found = json.loads(run(*files, "--as", "embedding", "--json")[1])["similarities"]
    assert found == [{"inputs": ["0.npy", "1.npy"], "cosine": pytest.approx(cosine, abs=1e-6)}]
    _, out, _ = run(files[0], files[0], "--as", "embedding")
    assert "0.npy and 0.npy: cosine similarity 1.0000" in out


def test_classes_where_the_model_does_not_tell() -> None:
    assert run("--as", "classification")[1].startswith("random input (seed 0): class ")


def test_a_task_that_does_not_fit() -> None:
    code, _, err = run("--as", "detection")
    assert (code, err) == (2, "nnapi: --as detection does not fit outputs of shape [1, 10]\n")


@pytest.mark.slow
@pytest.mark.shared
@pytest.mark.parametrize(
    ("model", "picture", "words"),
    [
        ("tf2_mobilenet_v2_1.0_224_ptq", "cat.bmp", "Egyptian cat ("),
        ("mobilenet_v1_0.75_192_quant", "grace_hopper.bmp", "military uniform ("),
    ],
)
def test_labels_of_published_models(shared: Path, model: str, picture: str, words: str) -> None:
    file, given = shared / f"models/{model}.tflite", shared / f"images/{picture}"
    result = CliRunner().invoke(app, ["run", str(file), str(given), "--device", "nnapi-reference"])
    assert result.stdout.startswith(f"{picture}: {words}"), result.output
