"""The results of each run: lines, tables, pictures, arrays in files, JSON."""

import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console, RenderableType
from rich.markup import escape
from rich.progress_bar import ProgressBar
from rich.text import Text

import nnapi
from nnapi.cli.inputs import FinishedRun
from nnapi.cli.printing import duration, indent, table
from nnapi.cli.sound_events import view_events
from nnapi.cli.subject import Subject, is_classified
from nnapi.cli.terminal_pictures import draw_in_terminal, encode_png
from nnapi.errors import Mistake
from nnapi.report.machine import machine
from nnapi.store.files import output_file
from nnapi.vision.drawing import draw_caption
from nnapi.vision.families import BY_TASK, offer_tasks, view_outputs
from nnapi.vision.output_summaries import Rank, Summary, output_operands, rank_classes, summaries, to_shares
from nnapi.vision.pictures import open_picture
from nnapi.vision.task import Task
from nnapi.vision.view import Picture, View, percent

WIDEST = 80
MOST_PAIRS = 10
CAPTION = 3


@dataclass(frozen=True)
class RunResult:
    """The results of one run; ``offered`` are tasks that can show outputs that no family recognizes."""

    finished: FinishedRun
    ranks: list[Rank]
    summaries: list[Summary]
    view: View | None = None
    offered: tuple[Task, ...] = ()

    @property
    def source(self) -> str:
        return " + ".join(dict.fromkeys(given.source for given in self.finished.inputs))

    @property
    def answer(self) -> str:
        if self.view:
            return self.view.words
        if self.ranks:
            return str(self.ranks[0])
        if len(self.summaries) > 2:
            return f"{len(self.summaries)} outputs, the first: {self.summaries[0]}"
        return "; ".join(map(str, self.summaries))


@dataclass(frozen=True)
class FailedRun:
    """A run without results: the names of its files, and the reason."""

    sources: Sequence[str]
    error: str


def select_finished(runs: Sequence[RunResult | FailedRun]) -> list[RunResult]:
    return [run for run in runs if isinstance(run, RunResult)]


def summarize(subject: Subject, finished: FinishedRun, top: int) -> RunResult:
    model, task, outputs, hints = subject.model, subject.task, finished.outputs, subject.hints
    found = summaries(model, outputs)
    if finished.windows:
        return RunResult(finished, [], found, _view_windows(subject, finished))
    picture = next((open_picture(each.file, 3) for each in finished.inputs if each.file and each.is_picture), None)
    ranks = rank_classes(model, outputs[0], hints.labels, top) if is_classified(model, task) else []
    view = None
    if task in BY_TASK:
        view = view_outputs(model, outputs, task, hints, picture)
    elif ranks and picture:
        view = View(str(ranks[0]), draw_caption(picture, [str(one) for one in ranks[:CAPTION]]))
    if view and picture and view.picture is None:
        view = replace(view, picture=draw_caption(picture, [view.words]))
    offered = [] if task or ranks or not picture else offer_tasks(model, outputs)
    return RunResult(finished, ranks, found, view, tuple(offered))


def _view_windows(subject: Subject, finished: FinishedRun) -> View:
    assert finished.windows
    shares = to_shares(subject.model, finished.outputs[0])
    inputs, step, length, _ = finished.windows
    if len(shares) > len(inputs):  # the model returns several rows per window
        step = length = ((len(inputs) - 1) * step + length) / len(shares)
    return view_events(shares, step, length, subject.hints.labels, subject.hints.least)


def draw_view(file: Path, result: RunResult) -> None:
    """Write the picture of the results to a file; Mistake if they have none."""
    if result.view is None or result.view.picture is None:
        has_picture = any(each.is_picture for each in result.finished.inputs)
        why = "results of this task cannot be drawn on a picture" if has_picture else "no input is a picture in a file"
        raise Mistake(f"{file} is not written: {why}")
    save_picture(result.view.picture, file)


def save_picture(picture: Picture, file: Path) -> None:
    """Write a picture in the format of the file's suffix. Pillow's own writes to a full disk fail without a reason."""
    picture.save(content := io.BytesIO(), find_picture_format(file))
    with output_file(file) as out:
        out.write(content.getbuffer())


def find_picture_format(file: Path) -> str:
    """Return Pillow's name of the format for a file's suffix; Mistake if Pillow cannot write it."""
    from PIL import Image

    name = Image.registered_extensions().get(file.suffix.lower(), "")
    if name not in Image.SAVE:
        raise Mistake(f"--picture is {file}, must end like a picture, as in .png or .jpg")
    return name


def show(out: Console, result: RunResult, compilation: nnapi.Compilation) -> None:
    devices = ", ".join(device.name for device in compilation.devices)
    line = f"[bold]{escape(result.source)}: {escape(result.answer)}[/]"
    out.print(f"{line}  [dim]{escape(devices)}{_format_time(result.finished)}[/]")
    for given in result.finished.inputs:
        label = f"{given.source}: " if len(result.finished.inputs) > 1 else ""
        out.print(Text(f"  {label}{given.conversion}", style="dim"))
    if len(result.ranks) > 1:
        out.print(_classes(result.ranks))
    if result.view and result.view.data.get("events"):
        out.print(_events(result.view.data["events"]))
    if result.view and result.view.picture and out.is_terminal:
        print(draw_in_terminal(result.view.picture, min(WIDEST, out.width), os.environ))
    elif not result.ranks and not result.view:
        out.print(_outputs(result.summaries))
    if result.offered:
        choices = ", ".join(f"--as {task}" for task in result.offered)
        out.print(Text(f"  The file does not specify the meaning of these outputs. They can be shown with {choices}."))
    out.print()


def _format_time(finished: FinishedRun) -> str:
    if finished.seconds is None:
        return ""
    apart = [
        f"{words} {duration(s)}" for words, s in (("first", finished.first), ("inputs", finished.preparation)) if s
    ]
    return f", {duration(finished.seconds)}" + (f" ({', '.join(apart)})" if apart else "")


def _classes(ranks: Sequence[Rank]) -> RenderableType:
    rows = table("score", "share", "", "class", right=["score", "share"], has_header=False)
    for one in ranks:
        score = "" if one.score is None else f"{one.score:.3g}"
        bar = ProgressBar(total=1, completed=one.share, width=20)
        rows.add_row(score, percent(one.share), bar, Text(one.label or one.name))
    return indent(rows)


def _events(found: Sequence[Mapping[str, Any]]) -> RenderableType:
    rows = table("from", "to", "share", "class", right=["from", "to", "share"])
    for event in found:
        times = f"{event['from']:.2f} s", f"{event['to']:.2f} s"
        rows.add_row(*times, percent(event["share"]), Text(event["label"]))
    return indent(rows)


def compare_vectors(done: Sequence[RunResult]) -> list[tuple[str, str, float]]:
    """Return the sources and the cosine similarity of the first pairs of embeddings."""
    seen = [(result.source, result.view.data.get("vector")) for result in done if result.view]
    vectors = [(source, np.array(vector)) for source, vector in seen if vector is not None]
    found = []
    for (a, first), (b, second) in list(combinations(vectors, 2))[:MOST_PAIRS]:
        length = float(np.linalg.norm(first) * np.linalg.norm(second))
        found.append((a, b, float(first @ second) / length if length else 0.0))
    return found


def _outputs(found: Sequence[Summary]) -> RenderableType:
    rows = table("output", "type", "shape", "min", "max", "mean", "position of maximum", right=["min", "max", "mean"])
    for one in found:
        numbers = (f"{number:.6g}" for number in (one.least, one.greatest, one.mean))
        top = ", ".join(str(list(index)) for index, _ in one.top)
        rows.add_row(Text(one.name), one.type, str(list(one.shape)), *numbers, Text(top))
    return indent(rows)


def write_outputs(folder: Path, result: RunResult, number: int | None) -> None:
    """Write the outputs and, if any, the picture; ``number`` makes the names unique among several runs."""
    first = result.finished.inputs[0].file
    stem = first.stem if first else "random"
    stem = stem if number is None else f"{number}-{stem}"
    folder.mkdir(parents=True, exist_ok=True)
    for number, array in enumerate(result.finished.outputs):
        np.save(content := io.BytesIO(), array)  # NumPy's own writes to a full disk fail without a reason
        with output_file(folder / f"{stem}-output{number}.npy") as file:
            file.write(content.getbuffer())
    if result.view and result.view.picture:
        save_picture(result.view.picture, folder / f"{stem}-seen.png")


def describe_runs(
    file: Path, compilation: nnapi.Compilation, done: Sequence[RunResult | FailedRun], notes: Sequence[str] = ()
) -> dict[str, Any]:
    found: dict[str, Any] = {
        "model": str(file),
        "notes": list(notes),
        "devices": [device.name for device in compilation.devices],
        "machine": machine(),
        "runs": [describe_run(compilation.model, result) for result in done],
    }
    if pairs := compare_vectors(select_finished(done)):
        found["similarities"] = [{"inputs": [a, b], "cosine": cosine} for a, b, cosine in pairs]
    return found


def describe_run(model: nnapi.Model, result: RunResult | FailedRun) -> dict[str, Any]:
    if isinstance(result, FailedRun):
        return {"inputs": [{"source": source} for source in result.sources], "error": result.error}
    kinds = [operand.type for operand in output_operands(model)]
    described: dict[str, Any] = {
        "inputs": [{"source": given.source, "done": given.conversion} for given in result.finished.inputs],
        "seen": result.answer,
        "seconds": result.finished.seconds,
        "first_seconds": result.finished.first,
        "preparation_seconds": result.finished.preparation,
        "classes": [
            {"index": rank.index, "label": rank.label, "probability": rank.share, "score": rank.score}
            for rank in result.ranks
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
                "top": [{"index": list(index), "value": value} for index, value in one.top],
            }
            for one, kind in zip(result.summaries, kinds, strict=True)
        ],
    }
    if result.view:
        described |= result.view.data
        if result.view.result:
            picture = result.view.result
            described["picture"] = {"width": picture.width, "height": picture.height, "png": encode_png(picture)}
    return described
