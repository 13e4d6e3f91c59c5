"""The model of a command: its file, and the options for reading it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

import nnapi
from nnapi.errors import Mistake

Int16AsFloat = Annotated[
    bool,
    typer.Option("--int16-as-float", help="Take 16-bit quantized values of a .tflite file as floats."),
]
Weights = Literal["dynamic-range"]
AsWeights = Annotated[
    Weights | None,
    typer.Option(
        "--weights",
        help="Let devices compute with the 8- and 4-bit weights of float operations in a .tflite file as they are, and "
        "round the inputs beside them to 8 bits: faster, and less exact.",
    ),
]
InputShapes = Annotated[
    list[str] | None,
    typer.Option(
        "--shape",
        metavar="NAME=1,3,224,224",
        help="Dimensions of an input that an .onnx file leaves open; repeat it for more.",
    ),
]


def load(
    file: Path, int16_as_float: bool = False, shapes: Sequence[str] | None = None, weights: Weights | None = None
) -> nnapi.Model:
    """The model in a file; ``shapes`` are as the option has them."""
    return nnapi.load(file, dict(map(_read_shape, shapes or ())), int16_as_float=int16_as_float, weights=weights)


def _read_shape(text: str) -> tuple[str, list[int]]:
    name, _, sizes = text.rpartition("=")
    try:
        if not name:
            raise ValueError("nothing is named")
        return name, [int(size) for size in sizes.split(",")]
    except ValueError:
        raise Mistake(f"--shape is {text}, must be a name and dimensions, as in image=1,3,224,224") from None
