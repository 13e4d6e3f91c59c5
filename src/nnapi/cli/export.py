"""``nnapi export``: write a model, or every model of a recording, as .tflite or .onnx."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

import nnapi
from nnapi.cli.ahead_of_time import compile_files, open_compiler
from nnapi.cli.command import refuse_options
from nnapi.cli.exported_notes import read_notes
from nnapi.cli.failure import ExitCode, fail
from nnapi.cli.info import EXAMPLES, examples_by_model
from nnapi.cli.options import AsWeights, InputShapes, Int16AsFloat, ModelFile, load
from nnapi.cli.printing import console
from nnapi.errors import Mistake, NnapiError
from nnapi.exporters import FORMATS
from nnapi.exporters.file_notes import NO_NOTES, FileNotes
from nnapi.store.files import output_file
from nnapi.testing.build import build

BINARY = ".bin"


def export(
    model: ModelFile,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FILE", help="The file to write (.tflite, .onnx; .bin with --for), or a folder."
        ),
    ],
    target: Annotated[
        str | None,
        typer.Option(
            "--for",
            metavar="CHIP",
            help="Compile for the NPU of a phone's chip, such as SM8650; also write the .onnx file that embeds it.",
        ),
    ] = None,
    format: Annotated[str, typer.Option(help="Format of the files in a folder: tflite or onnx.")] = "tflite",
    int16_as_float: Int16AsFloat = False,
    weights: AsWeights = None,
    shapes: InputShapes = None,
    force: Annotated[bool, typer.Option("--force", help="Let the new file replace MODEL itself.")] = False,
) -> None:
    """Write a model as a .tflite or .onnx file. The suffix of the file's name is the format.

    The metadata of the file is kept: labels, ranges of pixels, descriptions.

    MODEL may be a recording (.npz) that NNAPI_RECORD wrote; all its models are then written to a folder.
    """
    if model.suffix == EXAMPLES:
        refuse_options(["int16_as_float", "weights", "shapes", "force", "target"], f"{model.name} is a recording")
    elif not output.is_dir():
        refuse_options(["format"], "the suffix of the file to write is its format")
    suffix = f".{format.removeprefix('.')}"
    if suffix not in FORMATS:
        raise Mistake(f"--format is {format}, must be {' or '.join(each.removeprefix('.') for each in FORMATS)}")
    if model.suffix == EXAMPLES:
        _export_recording(model, output, suffix)
    else:
        if target:
            refuse_options(["force"], "--for writes other files than MODEL")
            _export_for(target, model, output, partial(load, model, int16_as_float, shapes, weights))
            return
        path = output / f"{model.stem}{suffix}" if output.is_dir() else output
        if path.suffix not in FORMATS:
            raise Mistake(f"--output is {output}, must be an existing folder or end in {' or '.join(FORMATS)}")
        if not force:
            need_other_file(model, path, "name another file, or let --force replace it")
        loaded = load(model, int16_as_float, shapes, weights)
        _write(loaded, path, read_notes(model, loaded, path.suffix))


def _export_recording(recording: Path, folder: Path, suffix: str) -> None:
    if folder.suffix in FORMATS:
        raise Mistake("a recording may hold several models: let --output be a folder")
    folder.mkdir(parents=True, exist_ok=True)
    refused = []
    for position, (example, *_) in enumerate(examples_by_model(recording)):
        try:
            _write(build(example), folder / f"{recording.stem}-{position}{suffix}")
        except NnapiError as error:
            refused.append(f"model {position}: {error.message}")
    if refused:
        raise typer.Exit(fail("\n".join(refused), ExitCode.REFUSED))


def _export_for(target: str, source: Path, output: Path, read: Callable[[], nnapi.Model]) -> None:
    """Write the files for a target: ``output``, and files beside it whose names begin alike."""
    with open_compiler(target) as compiler:
        if output.suffix != BINARY or output.is_dir():
            raise Mistake(f"--output is {output}, must end in {BINARY} with --for")
        model = read()
        files = {
            output.with_name(output.stem + end): content
            for end, content in compile_files(model, compiler, target).items()
        }
    for path in files:
        need_other_file(source, path, "name another file")
    for path, content in files.items():
        with output_file(path) as file:
            file.write(content)
        console().print(f"written to {path}", markup=False)
    if not all(model.operands[index].type.is_known for index in model.inputs):
        console().print("unspecified dimensions are 1 in these files: --shape sets others")


def need_other_file(source: Path, target: Path, advice: str) -> None:
    """Raise Mistake if writing ``target`` would replace ``source``."""
    if target.exists() and source.exists() and target.samefile(source):
        raise Mistake(f"{target} is the file that is read: {advice}")


def _write(model: nnapi.Model, path: Path, notes: FileNotes = NO_NOTES) -> None:
    nnapi.export(model, path, notes=notes)
    console().print(f"written to {path}", markup=False)
