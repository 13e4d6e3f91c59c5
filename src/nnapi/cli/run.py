"""``nnapi run``: run a model and say what it sees."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console, RenderableType
from rich.markup import escape
from rich.progress_bar import ProgressBar
from rich.text import Text

import nnapi
from nnapi.cli.cluster_runs import Ended, On, connect_if, run_on
from nnapi.cli.failure import Mistake
from nnapi.cli.inputs import Given, read_inputs, runs
from nnapi.cli.labels import fit_labels, read_labels
from nnapi.cli.loading import InputShapes, Int16AsFloat, load
from nnapi.cli.outputs import Rank, Summary, class_count, output_operands, percent, rank, summaries
from nnapi.cli.pictures import Pixels, open_picture
from nnapi.cli.profile import ProfileFile, add_profile
from nnapi.cli.progress import progress
from nnapi.cli.tasks import Task, View, find_task, to_blocks, view
from nnapi.cli.text import console, duration, indent, print_json, table
from nnapi.model.operand import Array

WIDEST = 80
"""Columns of a picture in a terminal at most."""


@dataclass(frozen=True)
class Ran:
    """One run: what went in, what came out and what it says."""

    given: list[Given]
    outputs: list[Array]
    seconds: float
    ranks: list[Rank]
    summaries: list[Summary]
    view: View | None = None

    @property
    def source(self) -> str:
        return " + ".join(dict.fromkeys(given.source for given in self.given))

    @property
    def seen(self) -> str:
        """The answer in words: the likeliest class, else the outputs, or the first of many, in numbers."""
        if self.view:
            return self.view.words
        if self.ranks:
            return str(self.ranks[0])
        if len(self.summaries) > 2:
            return f"{len(self.summaries)} outputs, the first: {self.summaries[0]}"
        return "; ".join(map(str, self.summaries))


def run(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model file.", show_default=False)],
    inputs: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="INPUT",
            help="Pictures, .npy or .wav files: one run each, or one for each of several model inputs. "
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
    files = inputs or []
    out = console()
    with progress(out, 2 + max(1, len(files))) as step:
        step("reading the model")
        loaded = load(model, int16_as_float, shapes)
        task = task or find_task(loaded)
        names = _labels(loaded, labels, task)
        planned = runs(loaded, files)
        if picture and len(planned) > 1:
            raise Mistake(f"--picture takes one run, not {len(planned)}: give --output a folder instead")
        step("compiling")
        compilation = nnapi.compile(loaded, add_profile(profile, device))
        done: list[Ran] = []
        with connect_if(on) as cluster:
            chosen = [each.name for each in compilation.devices]
            ended = run_on(cluster, loaded, chosen, planned, pixels, seed) if cluster else None
            for paths in planned:
                step(f"running on {' + '.join(path.name for path in paths) or 'random values'}")
                one = next(ended) if ended else _run(compilation, read_inputs(loaded, paths, pixels, seed))
                done.append(_tell(loaded, one, names, top, task))
                if picture:
                    _draw(picture, done[-1].view)
                if output:
                    _write(output, done[-1], _stem(done[-1], len(planned), len(done)))
                if not as_json:
                    _show(out, done[-1], compilation)
    if as_json:
        print_json(_describe(model, compilation, done))


def _numbers(option: str, text: str | None) -> tuple[float, ...] | None:
    if text is None:
        return None
    try:
        return tuple(float(number) for number in text.split(","))
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not one number or several with commas", param_hint=option) from None


def _labels(model: nnapi.Model, file: Path | None, task: Task | None) -> list[str] | None:
    if file is None:
        return None
    if task in (Task.DETECTION, Task.SEGMENTATION):
        return read_labels(file)
    names, count = read_labels(file), class_count(model)
    if count is None:
        raise Mistake(f"{file.name} cannot be used: the model does not tell classes apart")
    return fit_labels(names, count, file.name)


def _run(compilation: nnapi.Compilation, given: list[Given]) -> Ended:
    start = time.perf_counter()
    outputs = compilation.run(*(value.array for value in given))
    return given, outputs, time.perf_counter() - start


def _tell(model: nnapi.Model, ended: Ended, labels: Sequence[str] | None, top: int, task: Task | None) -> Ran:
    """What a run says."""
    given, outputs, seconds = ended
    ranks = [] if class_count(model) is None else rank(model, outputs[0], labels, top)
    seen = view(task, model, outputs, labels, _find_picture(given)) if task else None
    return Ran(given, outputs, seconds, ranks, summaries(model, outputs), seen)


def _find_picture(given: Sequence[Given]) -> Any:
    """The picture that went in, at its own size; None where none did."""
    for value in given:
        if value.file and value.done.find("pixel") >= 0:
            return open_picture(value.file, 3)
    return None


def _draw(file: Path, seen: View | None) -> None:
    """Write the picture of what was seen; a Mistake where there is none."""
    if seen is None or seen.picture is None:
        raise Mistake(f"{file} is not written: there is no picture of what the model says")
    try:
        seen.picture.save(file)
    except ValueError as error:
        raise Mistake(f"{file} is not written: {error}") from None


def _show(out: Console, ran: Ran, compilation: nnapi.Compilation) -> None:
    devices = ", ".join(device.name for device in compilation.devices)
    line = f"[bold]{escape(ran.source)}: {escape(ran.seen)}[/]"
    out.print(f"{line}  [dim]{escape(devices)}, {duration(ran.seconds)}[/]")
    for given in ran.given:
        label = f"{given.source}: " if len(ran.given) > 1 else ""
        out.print(Text(f"  {label}{given.done}", style="dim"))
    if len(ran.ranks) > 1:
        out.print(_classes(ran.ranks))
    elif ran.view and ran.view.picture and out.is_terminal:
        print(to_blocks(ran.view.picture, min(WIDEST, out.width)))
    elif not ran.ranks and not ran.view:
        out.print(_outputs(ran.summaries))
    out.print()


def _classes(ranks: Sequence[Rank]) -> RenderableType:
    rows = table("score", "share", "", "class", right=["score", "share"])
    rows.show_header = False
    for one in ranks:
        score = "" if one.score is None else f"{one.score:.3g}"
        bar = ProgressBar(total=1, completed=one.share, width=20)
        rows.add_row(score, percent(one.share), bar, Text(one.label or one.name))
    return indent(rows)


def _outputs(found: Sequence[Summary]) -> RenderableType:
    rows = table("output", "type", "shape", "min", "max", "mean", right=["min", "max", "mean"])
    for one in found:
        figures = (f"{figure:.6g}" for figure in (one.least, one.greatest, one.mean))
        rows.add_row(Text(one.name), one.type, str(list(one.shape)), *figures)
    return indent(rows)


def _stem(ran: Ran, count: int, number: int) -> str:
    """A file name for the run's outputs: the input's, numbered where several runs might share it."""
    first = ran.given[0].file
    stem = first.stem if first else "random"
    return f"{number}-{stem}" if count > 1 else stem


def _write(folder: Path, ran: Ran, stem: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number, array in enumerate(ran.outputs):
        np.save(folder / f"{stem}-output{number}.npy", array)
    if ran.view and ran.view.picture:
        ran.view.picture.save(folder / f"{stem}-seen.png")


def _describe(file: Path, compilation: nnapi.Compilation, done: Sequence[Ran]) -> dict[str, Any]:
    kinds = [operand.type for operand in output_operands(compilation.model)]
    return {
        "model": str(file),
        "devices": [device.name for device in compilation.devices],
        "runs": [
            {
                "inputs": [{"source": given.source, "done": given.done} for given in ran.given],
                "seen": ran.seen,
                "seconds": ran.seconds,
                "classes": [
                    {"index": rank.index, "label": rank.label, "probability": rank.share, "score": rank.score}
                    for rank in ran.ranks
                ],
                "outputs": [
                    {
                        "name": one.name,
                        "type": one.type,
                        "shape": list(one.shape),
                        "scale": kind.scale,
                        "zero_point": kind.zero_point,
                        "min": one.least,
                        "max": one.greatest,
                        "mean": one.mean,
                    }
                    for one, kind in zip(ran.summaries, kinds, strict=True)
                ],
            }
            for ran in done
        ],
    }
