"""The results of each run: lines, tables, pictures, arrays in files, JSON."""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console, RenderableType
from rich.markup import escape
from rich.progress_bar import ProgressBar
from rich.text import Text

import nnapi
from nnapi.cli.inputs import Ended, Given
from nnapi.cli.terminal_pictures import draw_in_terminal
from nnapi.cli.text import duration, indent, table
from nnapi.errors import Mistake
from nnapi.vision.outputs import Rank, Summary, output_operands
from nnapi.vision.task import Task
from nnapi.vision.view import Picture, View, percent

WIDEST = 80
"""Maximum columns of a picture in a terminal."""
MOST_PAIRS = 10


@dataclass(frozen=True)
class Ran:
    """The results of one run; ``offered`` are tasks that would show outputs that no family recognizes."""

    ended: Ended
    ranks: list[Rank]
    summaries: list[Summary]
    view: View | None = None
    offered: tuple[Task, ...] = ()

    @property
    def given(self) -> list[Given]:
        return self.ended.given

    @property
    def source(self) -> str:
        return " + ".join(dict.fromkeys(given.source for given in self.given))

    @property
    def seen(self) -> str:
        """Return the likeliest class, else a summary of the outputs, or of the first of many."""
        if self.view:
            return self.view.words
        if self.ranks:
            return str(self.ranks[0])
        if len(self.summaries) > 2:
            return f"{len(self.summaries)} outputs, the first: {self.summaries[0]}"
        return "; ".join(map(str, self.summaries))


def draw(file: Path, view: View | None) -> None:
    """Write the picture of the results; Mistake if there is none."""
    if view is None or view.picture is None:
        raise Mistake(f"{file} is not written: the results have no picture")
    try:
        view.picture.save(file)
    except ValueError as error:
        raise Mistake(f"{file} is not written: {error}") from None


def show(out: Console, ran: Ran, compilation: nnapi.Compilation) -> None:
    devices = ", ".join(device.name for device in compilation.devices)
    line = f"[bold]{escape(ran.source)}: {escape(ran.seen)}[/]"
    out.print(f"{line}  [dim]{escape(devices)}{_say_time(ran.ended)}[/]")
    for given in ran.given:
        label = f"{given.source}: " if len(ran.given) > 1 else ""
        out.print(Text(f"  {label}{given.done}", style="dim"))
    if len(ran.ranks) > 1:
        out.print(_classes(ran.ranks))
    if ran.view and ran.view.data.get("events"):
        out.print(_events(ran.view.data["events"]))
    if ran.view and ran.view.picture and out.is_terminal:
        print(draw_in_terminal(ran.view.picture, min(WIDEST, out.width), os.environ))
    elif not ran.ranks and not ran.view:
        out.print(_outputs(ran.summaries))
    if ran.offered:
        choices = ", ".join(f"--as {task}" for task in ran.offered)
        out.print(Text(f"  The file does not say what these outputs mean. They can be shown with {choices}."))
    out.print()


def _say_time(ended: Ended) -> str:
    if ended.seconds is None:
        return ""
    apart = [f"{words} {duration(s)}" for words, s in (("first", ended.first), ("inputs", ended.preparation)) if s]
    return f", {duration(ended.seconds)}" + (f" ({', '.join(apart)})" if apart else "")


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


def compare_vectors(done: Sequence[Ran]) -> list[tuple[str, str, float]]:
    """Return the cosine similarity of the first pairs of embeddings."""
    seen = [(ran.source, ran.view.data.get("vector")) for ran in done if ran.view]
    vectors = [(source, np.array(vector)) for source, vector in seen if vector is not None]
    found = []
    for (a, first), (b, second) in list(combinations(vectors, 2))[:MOST_PAIRS]:
        length = float(np.linalg.norm(first) * np.linalg.norm(second))
        found.append((a, b, float(first @ second) / length if length else 0.0))
    return found


def _outputs(found: Sequence[Summary]) -> RenderableType:
    rows = table("output", "type", "shape", "min", "max", "mean", "greatest at", right=["min", "max", "mean"])
    for one in found:
        figures = (f"{figure:.6g}" for figure in (one.least, one.greatest, one.mean))
        top = ", ".join(str(list(index)) for index, _ in one.top)
        rows.add_row(Text(one.name), one.type, str(list(one.shape)), *figures, Text(top))
    return indent(rows)


def name_files(ran: Ran, count: int, number: int) -> str:
    """Return a file name for the run's outputs: the input's, with a number if there are several runs."""
    first = ran.given[0].file
    stem = first.stem if first else "random"
    return f"{number}-{stem}" if count > 1 else stem


def write(folder: Path, ran: Ran, stem: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number, array in enumerate(ran.ended.outputs):
        np.save(folder / f"{stem}-output{number}.npy", array)
    if ran.view and ran.view.picture:
        ran.view.picture.save(folder / f"{stem}-seen.png")


def describe_runs(
    file: Path, compilation: nnapi.Compilation, done: Sequence[Ran], notes: Sequence[str] = ()
) -> dict[str, Any]:
    """Return all runs as JSON; ``notes`` are guesses about the model."""
    found: dict[str, Any] = {
        "model": str(file),
        "notes": list(notes),
        "devices": [device.name for device in compilation.devices],
        "runs": [describe_run(compilation.model, ran) for ran in done],
    }
    if pairs := compare_vectors(done):
        found["similarities"] = [{"inputs": [a, b], "cosine": cosine} for a, b, cosine in pairs]
    return found


def describe_run(model: nnapi.Model, ran: Ran) -> dict[str, Any]:
    """Return one run as JSON."""
    kinds = [operand.type for operand in output_operands(model)]
    described: dict[str, Any] = {
        "inputs": [{"source": given.source, "done": given.done} for given in ran.given],
        "seen": ran.seen,
        "seconds": ran.ended.seconds,
        "first_seconds": ran.ended.first,
        "preparation_seconds": ran.ended.preparation,
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
                "top": [{"index": list(index), "value": value} for index, value in one.top],
            }
            for one, kind in zip(ran.summaries, kinds, strict=True)
        ],
    }
    if ran.view:
        described |= ran.view.data
        if ran.view.result:
            described["picture"] = _describe_picture(ran.view.result)
    return described


def _describe_picture(picture: Picture) -> dict[str, Any]:
    """Return a picture of the model as PNG in base64."""
    stored = io.BytesIO()
    picture.save(stored, "PNG")
    png = base64.b64encode(stored.getvalue()).decode()
    return {"width": picture.width, "height": picture.height, "png": png}
