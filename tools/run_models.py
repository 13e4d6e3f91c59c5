"""Write docs/run-models.md: the results of ``nnapi run`` for every model of two folders.

    python -m tools.run_models SHARED > docs/run-models.md

SHARED has the folders ``models``, ``models-2`` and ``images``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from typer.testing import CliRunner

from nnapi.cli import app

PICTURES = {
    "ssd_slim": "face.jpg",
    "ssd_": "cats_and_dogs.jpg",
    "blazeface": "face.jpg",
    "hair": "face.jpg",
    "selfie": "face.jpg",
    "deeplabv3_257": "bird_segmentation.bmp",
    "deeplabv3_mnv2": "dog_segmentation.bmp",
    "inat": "sparrow.png",
    "resnet": "bird.bmp",
} | dict.fromkeys(
    ("pose", "edsr", "movenet", "bisenet", "landmark", "ade20k"),
    "grace_hopper.bmp",
)
"""The input of models by a part of their names; other models get cat.bmp."""
SOUNDS = ("speech", "yamnet", "kws", "keyword", "wakeword")
NUMBERS = ("ad01", "dtln", "hello", "add_trivial", "text")
TAIL = """
## Models with wrong results, although nnapi decodes them correctly

- `posenet_mnv1_100_257_int8` finds no person. Its quantization was calibrated on pixels from 0 to 255, but its weights
  expect pixels from -1 to 1. So one quantization step of the input is 1, which is half of the range that the weights
  expect. The quantized logits of the heat maps are at most 0, so no score exceeds 0.5. If the same weights are
  dequantized to floats and the pixels scaled to -1 to 1, the nose scores 1.00 in `grace_hopper.bmp` and in `face.jpg`.
- `blazepose_landmark_lite_f16` expects the crop that MediaPipe makes around a detected person: from head to feet, with
  the hips in the middle. On a portrait, the model reports a person with wrong landmarks. If the portrait fills the
  upper half of a square picture, the shoulders are right.
- `cpm_pose_float` and `hourglass_pose_float` expect whole people. nnapi therefore scales a picture to 60 % of the size
  of the model's input. On portraits, head, neck and shoulders are right. Points near an edge of the picture, such as
  elbows, may be wrong.

`hand_landmark_3d_intquant` is right to find no hand, because the picture shows none.
"""
HEAD = """# Models that were run

The table lists the output of `nnapi run MODEL INPUT` for published models. `python -m tools.run_models` writes it.

| column | meaning |
|---|---|
| input | a picture or a sound; models with "–" ran on random values |
| drawn | contents of the picture that `--picture` writes |
| guessed | facts that the model's file does not state; options of `nnapi run` set other values |

| model | input | output | drawn | guessed |
|---|---|---|---|---|"""


def main(shared: Path) -> None:
    """Print the page."""
    print(HEAD)
    for folder in ("models", "models-2"):
        for file in sorted((shared / folder).glob("*.tflite")):
            print(_row(file, shared / "images"))
    print(TAIL, end="")


def _input(name: str) -> str | None:
    if any(part in name for part in NUMBERS):
        return None
    if any(part in name for part in SOUNDS):
        return "nns_yes.wav"
    return next((picture for part, picture in PICTURES.items() if part in name), "cat.bmp")


def _row(file: Path, images: Path) -> str:
    name = _input(file.name)
    result = CliRunner().invoke(app, ["run", str(file), *([str(images / name)] if name else []), "--json"])
    if result.exit_code:
        reason = result.stderr.strip().splitlines()[-1].removeprefix("nnapi: ").rpartition("]: ")[2]
        return f"| {file.stem} | {name or '–'} | refused: {_cell(_first_refusal(reason))} | – | – |"
    found = json.loads(result.stdout)
    (run,) = found["runs"]
    drawn = next((words for key, words in DRAWN.items() if key in run), "caption" if name and run["classes"] else "–")
    guesses = [note.partition(";")[0] for note in found["notes"]]
    guesses += [_guess(part["done"]) for part in run["inputs"] if "(guessed" in part["done"]]
    return f"| {file.stem} | {name or '–'} | {_cell(run['seen'])} | {drawn} | {'; '.join(guesses) or '–'} |"


def _first_refusal(message: str) -> str:
    """Return the first reason of an error message, without the file's name."""
    _, is_inexpressible, operations = message.partition(" operations that NNAPI cannot express: ")
    if is_inexpressible:
        return f"NNAPI cannot express {operations.partition('; ')[0]})"
    return message.rpartition("): ")[2] or message


def _guess(done: str) -> str:
    """Return the guessed range of the pixels, and the reason."""
    words, _, reason = done.partition(" (guessed: ")
    return f"{words.rpartition(', ')[2]}: {reason.rstrip(')').partition(';')[0]}"


DRAWN = {
    "boxes": "boxes",
    "mask": "mask",
    "people": "key points",
    "landmarks": "landmarks",
    "picture": "the picture",
    "depths": "depths",
    "vector": "caption",
}
"""The contents of the picture, by the key of the data in the run's JSON."""


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "/").split())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
