"""``nnapi run``: run a model and say what it sees."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

import nnapi
from nnapi.cli.anchors import find_detector
from nnapi.cli.batch import Failure, Kept, Sounding, list_files, run_batch, run_windows
from nnapi.cli.cluster_runs import Ended, On, connect_if, run_on
from nnapi.cli.description import Description, describe
from nnapi.cli.failure import Mistake, message, warn
from nnapi.cli.inputs import input_operands, read_inputs, runs
from nnapi.cli.labels import fit_labels, read_labels
from nnapi.cli.loading import AsWeights, InputShapes, Int16AsFloat, load
from nnapi.cli.outputs import class_count, output_operands
from nnapi.cli.pictures import FLOATS, Pixels
from nnapi.cli.profile import ProfileFile, add_profile
from nnapi.cli.progress import progress
from nnapi.cli.run_results import Ran, compare_vectors, describe_run, describe_runs, draw, name_files, show, write
from nnapi.cli.sounds import is_sound
from nnapi.cli.tasks import Hints, Task, find_task
from nnapi.cli.telling import Teller
from nnapi.cli.text import console, print_json, say_count

DRAWN = (Task.DETECTION, Task.SEGMENTATION, Task.AUDIO_EVENTS)
"""Tasks whose labels may be more than the classes that one result tells apart."""


def run(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model file.", show_default=False)],
    inputs: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="INPUT",
            help="Pictures, .npy or .wav files, or folders of them: one run each, or one for each of several model "
            "inputs. "
            "Random values where there is none.",
            show_default=False,
        ),
    ] = None,
    device: Annotated[
        list[str] | None, typer.Option("--device", "-d", help="Run on this device only (may be repeated).")
    ] = None,
    profile: ProfileFile = None,
    labels: Annotated[Path | None, typer.Option(help="Names of the classes, one per line.")] = None,
    top: Annotated[int, typer.Option(min=1, help="How many classes to show.")] = 5,
    mean: Annotated[
        str | None,
        typer.Option(help="Subtracted from pixels 0 to 255, one number or one per channel: 123.7,116.3,103.5."),
    ] = None,
    std: Annotated[str | None, typer.Option(help="Divides the pixels after that.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of random values.")] = 0,
    int16_as_float: Int16AsFloat = False,
    weights: AsWeights = None,
    shapes: InputShapes = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Write each output, as the model stores it, to a .npy file in this folder, and what was seen drawn.",
        ),
    ] = None,
    task: Annotated[
        Task | None, typer.Option("--as", help="What the model is for, where its outputs do not tell.")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="F", help="Write what was seen into this picture: boxes, masks, key points.")
    ] = None,
    on: On = None,
    jsonl: Annotated[
        Path | None,
        typer.Option(
            metavar="F",
            help="Append a line of JSON for each run to this file, and leave out the runs that it has already.",
        ),
    ] = None,
) -> None:
    """Run a model on pictures, arrays, recordings or random values, and say what it sees.

    Pictures are resized with bilinear interpolation. Inputs of 8 bits take the pixels as codes; floats take them as
    numbers from -1 to 1 unless --mean and --std say otherwise.
    """
    pixels = Pixels(_numbers("--mean", mean), _numbers("--std", std))
    if on and profile:
        raise Mistake("--profile is of this machine, and --on of others: give one of them")
    if pixels.std and 0 in pixels.std:
        raise typer.BadParameter("must not be 0", param_hint="--std")
    out = console()
    files = list_files(inputs or [])
    with progress(out, 2 + max(1, len(files))) as step:
        step("reading the model")
        loaded = load(model, int16_as_float, shapes, weights)
        said = describe(model)
        if said.warning:
            warn(said.warning)
        task = task or said.task or find_task(loaded)
        hints = Hints(_labels(loaded, labels, task, said), said.threshold, said.anchors)
        pixels = pixels if pixels.is_given else find_pixels(loaded, said)
        planned = runs(loaded, files)
        if picture and len(planned) > 1:
            raise Mistake(f"--picture takes one run, not {len(planned)}: give --output a folder instead")
        kept = Kept(jsonl, model.name) if jsonl else None
        planned = [paths for paths in planned if kept is None or paths not in kept]
        step("compiling")
        compilation = nnapi.compile(loaded, add_profile(profile, device))
        teller = Teller(loaded, hints, top, task)
        done: list[Ran] = []
        failed = 0
        with connect_if(on) as cluster, kept or nullcontext():
            chosen = [each.name for each in compilation.devices]
            reader = partial(read_inputs, loaded, pixels=pixels, seed=seed)
            if cluster:
                ended: Iterator[Ended | Sounding | Failure] = run_on(cluster, loaded, chosen, planned, pixels, seed)
            elif task is Task.AUDIO_EVENTS and all(len(paths) == 1 and is_sound(paths[0]) for paths in planned):
                ended = run_windows(compilation, [paths[0] for paths in planned], said.sample_rate)
            else:
                ended = run_batch(compilation, planned, reader)
            for number, paths in enumerate(planned, 1):
                step(f"running on {' + '.join(path.name for path in paths) or 'random values'}")
                one = next(ended)
                if isinstance(one, Failure):
                    if kept is None:
                        raise one.error
                    failed += 1
                    kept.add(paths, {"error": message(one.error)})
                    continue
                ran = teller.tell(one)
                if kept:
                    kept.add(paths, describe_run(loaded, ran))
                else:
                    done.append(ran)
                if not as_json and not kept:
                    show(out, ran, compilation)  # first: the answer is there, even where a file cannot be written
                if picture:
                    draw(picture, ran.view)
                if output:
                    write(output, ran, name_files(ran, len(planned), number))
    if kept:
        skipped = f", {kept.before} were there before" if kept.before else ""
        out.print(f"{say_count(len(planned), 'run')} in {jsonl}{skipped}", markup=False)
        if failed:
            raise Mistake(f"{failed} of them failed: {jsonl} says why")
    elif as_json:
        print_json(describe_runs(model, compilation, done))
    else:
        for first, second, cosine in compare_vectors(done):
            out.print(f"{first} and {second}: cosine similarity {cosine:.4f}", markup=False)


def _numbers(option: str, text: str | None) -> tuple[float, ...] | None:
    if text is None:
        return None
    try:
        return tuple(float(number) for number in text.split(","))
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not one number or several with commas", param_hint=option) from None


def find_pixels(model: nnapi.Model, said: Description) -> Pixels:
    """How pictures become real numbers, as the file says or as known detectors want it; codes stay pixels."""
    types = [operand.type for operand in input_operands(model)]
    if len(types) != 1 or types[0].code not in FLOATS:
        return Pixels()
    if said.pixels.is_given:
        return said.pixels
    detector = find_detector(types[0].dimensions, [operand.type.dimensions for operand in output_operands(model)])
    return Pixels((0.0,), (255.0,)) if detector and detector.black == 0 else Pixels()


def _labels(model: nnapi.Model, file: Path | None, task: Task | None, said: Description) -> Sequence[str] | None:
    """Names of classes, from the option or the model's own file."""
    count = class_count(model)
    if count is None and task is Task.CLASSIFICATION:
        count = math.prod(output_operands(model)[0].type.dimensions)
    if file is None:
        if said.labels and count and task not in DRAWN:
            try:
                return fit_labels(said.labels, count, "the model's file")
            except Mistake as mistake:
                warn(f"its labels are not used: {mistake}")
                return None
        return said.labels or None
    names = read_labels(file)
    if task in DRAWN:
        return names
    if count is None:
        raise Mistake(f"{file.name} cannot be used: the model does not tell classes apart")
    return fit_labels(names, count, file.name)
