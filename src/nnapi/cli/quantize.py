"""``nnapi quantize``: quantize a model with the library of its format, and show what each operation loses."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

import nnapi
from nnapi.cli.calibration_inputs import CalibrationInputs, choose_evenly, list_samples
from nnapi.cli.command import refuse_options
from nnapi.cli.export import need_other_file
from nnapi.cli.exported_notes import read_notes
from nnapi.cli.options import InputShapes, Json, ModelFile, Page, load, need_page
from nnapi.cli.printing import console, print_json
from nnapi.cli.progress import progress
from nnapi.cli.quantization_losses import measure_with_progress, show_losses, write_losses
from nnapi.cli.run_options import PixelMean, PixelRange, PixelStd, read_pixels
from nnapi.errors import Mistake, UnusableFile
from nnapi.printable import format_bytes, pluralize
from nnapi.quantizers import QUANTIZERS, Scheme, quantize_file
from nnapi.runtime.device import REFERENCE
from nnapi.store.files import PUBLIC, replace_file
from nnapi.vision.families import find_family
from nnapi.vision.file_metadata import describe
from nnapi.vision.pixel_ranges import find_pixels

TFLITE = ".tflite"
CALIBRATED, MEASURED = 200, 4
"""The most inputs to calibrate with, and to measure the loss on, by default."""


def quantize(
    model: ModelFile,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The file to write, in the format of MODEL.")
    ],
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Inputs to calibrate with: pictures, .npy or .wav files, or folders of them. For several model "
            "inputs, a folder for each input, with files of equal order.",
        ),
    ] = None,
    scheme: Annotated[
        Scheme,
        typer.Option(
            help="static: weights and activations have 8 bits; static-16: activations have 16; dynamic: each run "
            "quantizes the activations; weights: activations stay floats."
        ),
    ] = Scheme.STATIC,
    calibrate: Annotated[
        int | None, typer.Option(min=1, help="Calibrate with this many inputs at most.", show_default=str(CALIBRATED))
    ] = None,
    samples: Annotated[
        int | None,
        typer.Option(min=0, help="Measure the loss on this many inputs; 0 omits it.", show_default=str(MEASURED)),
    ] = None,
    limits: PixelRange = None,
    mean: PixelMean = None,
    std: PixelStd = None,
    every: Annotated[bool, typer.Option("--all", help="Show all operations, not only those that lose most.")] = False,
    shapes: InputShapes = None,
    html: Page = None,
    force: Annotated[bool, typer.Option("--force", help="Let the new file replace MODEL itself.")] = False,
    as_json: Json = False,
) -> None:
    """Quantize a float model with data, and show what each operation loses.

    ai-edge-quantizer quantizes .tflite files, ONNX Runtime .onnx files (pip install 'nnapi[quantize]'). Inputs are
    prepared as `nnapi run` prepares them.
    """
    _check(model, output, data, scheme)
    need_page(html)
    if data is None:
        measured = ["calibrate", "samples", "every", "html"]
        refuse_options([*measured, "limits", "mean", "std"], "without --data there are no inputs")
    if samples == 0:
        refuse_options(["every", "html"], "--samples 0 measures no loss")
    if not scheme.needs_data:
        refuse_options(["calibrate"], f"--scheme {scheme} calibrates nothing")
        if samples == 0:
            refuse_options(["data", "limits", "mean", "std"], f"--scheme {scheme} needs data only to measure the loss")
    if as_json:
        refuse_options(["every"], "--json has all operations")
    if not force:
        need_other_file(model, output, "name another file, or let --force replace it")
    pixels, exact, out = read_pixels(limits, mean, std), load(model, shapes=shapes), console()
    _need_floats(exact)
    if not pixels.is_given:
        pixels = find_pixels(exact, describe(model).pixels, find_family(exact))
    inputs = CalibrationInputs(
        exact, choose_evenly(list_samples(exact, data), calibrate or CALIBRATED) if data else [], pixels
    )
    notes = read_notes(model, exact, output.suffix)
    with progress(out, len(inputs) + 1) as step:
        step("loading the quantizer")
        content = quantize_file(model, scheme, replace(inputs, step=step))
    with replace_file(output, PUBLIC) as file:
        file.write(content + notes.archive)
    quantized = load(output, output.suffix == TFLITE and scheme is Scheme.STATIC_16, shapes)
    found, count = None, MEASURED if samples is None else samples
    if data and count:
        found = measure_with_progress(out, exact, quantized, inputs.first(count), nnapi.device(REFERENCE))
    title = f"{output.name} compared with {model.name}"
    if html and found:
        write_losses(html, quantized, found, title)
    sizes = [file.stat().st_size for file in (model, output)]
    if as_json:
        facts = {"model": str(model), "file": str(output), "scheme": scheme, "inputs": len(inputs) * scheme.needs_data}
        facts |= {"bytes_before": sizes[0], "bytes": sizes[1], "loss": found and asdict(found)}
        print_json("quantize", facts)
        return
    calibrated = f", calibrated with {pluralize(len(inputs), 'input')}" if scheme.needs_data else ""
    shares = f"{format_bytes(sizes[1])}, {sizes[1] / sizes[0]:.0%} of {format_bytes(sizes[0])}"
    out.print(f"written to {output}: {shares}{calibrated}", markup=False)
    if pixels.guess and inputs.has_pictures:
        out.print(f"  values of the pictures are {pixels.reason}", style="dim", markup=False)
    if found:
        show_losses(out, found, title, every)


def _need_floats(model: nnapi.Model) -> None:
    """Raise Mistake if no operation has a float result."""
    types = [model.operands[index].type for call in model.operations for index in call.outputs]
    if not any(type.dtype.kind == "f" for type in types):
        raise UnusableFile(f"{model.name} computes no floats: it is quantized already")


def _check(model: Path, output: Path, data: Path | None, scheme: Scheme) -> None:
    if model.suffix not in QUANTIZERS:
        raise Mistake(f"{model.name} cannot be quantized: give a {' or '.join(QUANTIZERS)} file")
    if output.suffix != model.suffix:
        raise Mistake(f"--output is {output}, must end in {model.suffix}; nnapi export converts the quantized file")
    if data is None and scheme.needs_data:
        raise Mistake(f"--scheme {scheme} needs --data, a folder of inputs; --scheme {Scheme.DYNAMIC} needs none")
