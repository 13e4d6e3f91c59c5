"""Write an NNAPI model to a .tflite or .onnx file."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from nnapi.errors import BadDataError, need
from nnapi.model.model import Model


def _write_tflite(model: Model, path: Path) -> None:
    from nnapi.exporters import tflite  # on demand: few programs write models

    tflite.write(model, path)


def _write_onnx(model: Model, path: Path) -> None:
    from nnapi.exporters import onnx

    onnx.write(model, path)


FORMATS: dict[str, Callable[[Model, Path], None]] = {".tflite": _write_tflite, ".onnx": _write_onnx}


def export(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a finished model to ``path``, a .tflite or .onnx file; the suffix selects the format.

    Names, types and quantization are preserved, and the file computes the same results as the model. Raises
    BadDataError that lists every operation that cannot be written, with the reason, and then writes nothing. Raises
    OSError where the file cannot be written; an old file of that name is then left unchanged.
    """
    target = Path(path)
    need(target.suffix in FORMATS, f"{target.name}: models are written as {' or '.join(FORMATS)}", BadDataError)
    FORMATS[target.suffix](model, target)
