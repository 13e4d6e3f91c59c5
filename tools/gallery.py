"""Write docs/gallery/*: drawings of ``nnapi run``, on gray instead of on the photographs.

    python -m tools.gallery SHARED

SHARED has the folders ``models``, ``models-2`` and ``images``. One drawing is on its photograph, which comes with
scikit-image and has no copyright restrictions (CC0).
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
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


FREE = Example("coffee", "models/ssd_mobilenet_v1_coco_quant.tflite", "coffee.png")
"""The example with a photograph of scikit-image (by Rachel Michetti, CC0)."""


def main(shared: Path) -> None:
    """Run each example and write its drawing."""
    FOLDER.mkdir(exist_ok=True)
    for example in EXAMPLES:
        drawn = draw(shared / example.model, shared / "images" / example.input)
        drawn.quantize(32).save(FOLDER / f"{example.name}.png", optimize=True)
    package = find_spec("skimage")
    if package is None or package.origin is None:
        sys.exit(f"{FREE.name}.jpg is not written: it needs a photograph of scikit-image (pip install scikit-image)")
    photograph = Path(package.origin).parent / "data" / FREE.input
    draw(shared / FREE.model, photograph, True).save(FOLDER / f"{FREE.name}.jpg", quality=85, optimize=True)


def draw(model: Path, file: Path, is_free: bool = False) -> Image.Image:
    """Run the model on a photograph; draw the result on the photograph, or on gray of the same proportions."""
    subject = load_subject(RunOptions(model))
    operand = subject.model.operands[subject.model.inputs[0]]
    array, _ = read_picture(file, operand.type, subject.pixels)
    outputs = nnapi.compile(subject.model).run(array)
    photograph = open_picture(file, 3)
    gray = Image.new("RGB", (WIDTH, WIDTH * photograph.height // photograph.width), GRAY)
    canvas = photograph.convert("RGB") if is_free else gray
    assert subject.task is not None
    view = view_outputs(subject.model, outputs, subject.task, subject.hints, canvas)
    print(f"{model.name}: {view.words}")
    assert view.picture is not None
    return view.picture


if __name__ == "__main__":
    main(Path(sys.argv[1]))
