"""How models become files: an NNAPI model, wherever it comes from, as a .tflite or .onnx file."""

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
"""What writes a file, by its suffix."""


def export(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a finished model to a file, which the suffix says the format of: .tflite or .onnx.

    Names, types and quantisation are kept and nothing is computed otherwise than the model says. Raises BadDataError,
    with a message that lists every operation that cannot be written and the reason, and then writes nothing; OSError
    where the file cannot be written, and then leaves the old one, or none.
    """
    target = Path(path)
    need(target.suffix in FORMATS, f"{target.name}: models are written as {' or '.join(FORMATS)}", BadDataError)
    FORMATS[target.suffix](model, target)
