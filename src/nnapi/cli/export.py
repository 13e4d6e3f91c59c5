"""``nnapi export``: a model, or every model of a recording, written as .tflite."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import nnapi
from nnapi.cli.failure import Mistake
from nnapi.cli.info import EXAMPLES, examples_by_model
from nnapi.cli.text import console
from nnapi.exporters import SUFFIX
from nnapi.testing.build import build


def export(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model file.", show_default=False)],
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write (.tflite), or a folder.")],
) -> None:
    """Write a model as a .tflite file.

    MODEL may be a recording (.npz), as NNAPI_RECORD writes them: then every model in it goes to a folder.
    """
    if model.suffix == EXAMPLES:
        if out.suffix == SUFFIX:
            raise Mistake("a recording holds several models: name a folder")
        out.mkdir(parents=True, exist_ok=True)
        for position, (example, *_) in enumerate(examples_by_model(model)):
            _write(build(example), out / f"{model.stem}-{position}{SUFFIX}")
    else:
        _write(nnapi.load(model), out / f"{model.stem}{SUFFIX}" if out.is_dir() else out)


def _write(model: nnapi.Model, path: Path) -> None:
    nnapi.export(model, path)
    console().print(f"written to {path}", markup=False)
