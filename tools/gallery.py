"""Write docs/gallery/*.png: drawings of ``nnapi run``, on gray instead of on the photographs.

    python -m tools.gallery SHARED

SHARED has the folders ``models``, ``models-2`` and ``images``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

from PIL import Image

import nnapi
from nnapi.cli.run_options import RunOptions
from nnapi.cli.subject import load_subject
from nnapi.vision.families import view_outputs
from nnapi.vision.pictures import open_picture, read_picture

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "gallery"
WIDTH = 480
GRAY = 96, 96, 96


class Example(NamedTuple):
    """A picture of the gallery: its name, the model and the input."""

    name: str
    model: str
    input: str


EXAMPLES = (
    Example("detection", "models/ssd_mobilenet_v1_coco_quant.tflite", "cats_and_dogs.jpg"),
    Example("segmentation", "models-2/bisenetv2_256_intquant.tflite", "grace_hopper.bmp"),
    Example("landmarks", "models-2/face_landmark_float.tflite", "grace_hopper.bmp"),
    Example("faces", "models/blazeface_front_float.tflite", "face.jpg"),
)


def main(shared: Path) -> None:
    """Run each example and write its drawing."""
    FOLDER.mkdir(exist_ok=True)
    for example in EXAMPLES:
        drawn = draw(shared / example.model, shared / "images" / example.input)
        drawn.quantize(32).save(FOLDER / f"{example.name}.png", optimize=True)


def draw(model: Path, file: Path) -> Image.Image:
    """Run the model on a photograph and draw the result on gray of the same proportions."""
    subject = load_subject(RunOptions(model))
    operand = subject.model.operands[subject.model.inputs[0]]
    array, _ = read_picture(file, operand.type, subject.pixels)
    outputs = nnapi.compile(subject.model).run(array)
    photograph = open_picture(file, 3)
    canvas = Image.new("RGB", (WIDTH, WIDTH * photograph.height // photograph.width), GRAY)
    assert subject.task is not None
    view = view_outputs(subject.model, outputs, subject.task, subject.hints, canvas)
    print(f"{model.name}: {view.words}")
    assert view.picture is not None
    return view.picture


if __name__ == "__main__":
    main(Path(sys.argv[1]))
