"""How models become files: an NNAPI model, wherever it comes from, as a .tflite that LiteRT and its tools take."""

from __future__ import annotations

import os
from pathlib import Path

from nnapi.errors import BadDataError, need
from nnapi.model.model import Model
from nnapi.runtime.store.files import PUBLIC, replace_file

SUFFIX = ".tflite"


def export(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a finished model to a file, which the suffix says the format of: .tflite.

    Names, types and quantisation are kept and nothing is computed otherwise than the model says. Raises BadDataError,
    with a message that lists every operation that cannot be written and the reason, and then writes nothing; OSError
    where the file cannot be written, and then leaves the old one, or none.
    """
    target = Path(path)
    need(target.suffix == SUFFIX, f"{target.name}: models are written as {SUFFIX}", BadDataError)
    from nnapi.exporters import tflite  # on demand: few programs write models

    content = tflite.serialise_model(model)
    with replace_file(target, PUBLIC) as file:
        file.write(content)
