"""The results of a run, by the task of the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nnapi.cli.events import view_events
from nnapi.cli.inputs import Ended, Given
from nnapi.cli.run_results import Ran
from nnapi.cli.subject import Subject
from nnapi.vision.drawing import draw_caption
from nnapi.vision.families import BY_TASK, offer_tasks, see
from nnapi.vision.outputs import class_count, rank, summaries, to_shares
from nnapi.vision.pictures import open_picture
from nnapi.vision.task import Task
from nnapi.vision.view import Picture, View

CAPTION = 3
"""Maximum classes below a picture."""


def tell(subject: Subject, ended: Ended, top: int) -> Ran:
    """Return the results of a run, with at most ``top`` classes."""
    model, task, outputs, hints = subject.model, subject.task, ended.outputs, subject.hints
    found = summaries(model, outputs)
    if ended.windows:
        return Ran(ended, [], found, _view_windows(subject, ended))
    picture = _find_picture(ended.given)
    is_classifier = task is Task.CLASSIFICATION or (task in (None, Task.AUDIO_EVENTS) and class_count(model))
    ranks = rank(model, outputs[0], hints.labels, top) if is_classifier else []
    view = None
    if task in BY_TASK:
        view = see(model, outputs, task, hints, picture)
    elif ranks and picture:
        view = View(str(ranks[0]), draw_caption(picture, [str(one) for one in ranks[:CAPTION]]))
    if view and picture and view.picture is None:
        view = replace(view, picture=draw_caption(picture, [view.words]))
    offered = [] if task or ranks or not picture else offer_tasks(model, outputs)
    return Ran(ended, ranks, found, view, tuple(offered))


def _view_windows(subject: Subject, ended: Ended) -> View:
    assert ended.windows
    shares = to_shares(subject.model, ended.outputs[0])
    inputs, step, length, _ = ended.windows
    if len(shares) > len(inputs):  # the model gives several rows for a window
        step = length = ((len(inputs) - 1) * step + length) / len(shares)
    return view_events(shares, step, length, subject.hints.labels, subject.hints.least)


def _find_picture(given: Sequence[Given]) -> Picture | None:
    files = (value.file for value in given if value.file and value.is_picture)
    return next((open_picture(file, 3) for file in files), None)
