"""The outputs of a run in words, numbers and pictures, by the task of the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from nnapi.cli.batch import Sounding
from nnapi.cli.ended import Ended
from nnapi.cli.events import draw_events, find_events, say_events
from nnapi.cli.inputs import Given
from nnapi.cli.run_results import Ran
from nnapi.cli.subject import Subject
from nnapi.vision.drawing import draw_caption
from nnapi.vision.families import BY_TASK, offer_tasks, see
from nnapi.vision.outputs import class_count, output_operands, rank, real, summaries, to_shares
from nnapi.vision.pictures import open_picture
from nnapi.vision.task import Task
from nnapi.vision.view import View, name_class

CAPTION = 3
"""Classes below a picture."""


class Teller(NamedTuple):
    """The model, and how many classes to show."""

    subject: Subject
    top: int

    def tell(self, ended: Ended | Sounding) -> Ran:
        """The results of a run."""
        if isinstance(ended, Sounding):
            return self._tell_events(ended)
        subject = self.subject
        model, task, outputs = subject.model, subject.task, ended.outputs
        found = summaries(model, outputs)
        picture = _find_picture(ended.given)
        is_classifier = task is Task.CLASSIFICATION or (task in (None, Task.AUDIO_EVENTS) and class_count(model))
        ranks = rank(model, outputs[0], subject.hints.labels, self.top) if is_classifier else []
        view, vector = None, None
        if task in BY_TASK:
            view = see(model, outputs, task, subject.hints, picture)
        elif ranks and picture:
            view = View(str(ranks[0]), draw_caption(picture, [str(one) for one in ranks[:CAPTION]]))
        if view and picture and view.picture is None:
            view = replace(view, picture=draw_caption(picture, [view.words]))
        if task is Task.EMBEDDING:
            vector = real(output_operands(model)[0].type, outputs[0]).reshape(-1).astype(np.float64)
        offered = [] if task or ranks or not picture else offer_tasks(model, outputs)
        labels = subject.hints.labels
        return Ran(ended, ranks, found, view, labels=labels, vector=vector, offered=tuple(offered))

    def _tell_events(self, ended: Sounding) -> Ran:
        """The events of a recording; each window's outputs lie one after the other in the first dimension."""
        shares = to_shares(self.subject.model, ended.outputs[0])
        step, length = ended.step, ended.length
        if len(shares) > ended.windows:  # the model gives several rows for a window
            step = length = ((ended.windows - 1) * step + length) / len(shares)
        labels = self.subject.hints.labels
        events = find_events(shares, step, length, self.subject.hints.least)
        names = [name_class(number, labels) for number in range(shares.shape[1])]
        words = say_events(events, [names[event.number] for event in events])
        view = View(words, draw_events(shares, step, length, names))
        found = summaries(self.subject.model, ended.outputs)
        return Ran(Ended(ended.given, ended.outputs, ended.seconds), [], found, view, tuple(events), labels)


def _find_picture(given: Sequence[Given]) -> Any:
    """The picture that went in, at its own size; None where none did."""
    for value in given:
        if value.file and value.is_picture:
            return open_picture(value.file, 3)
    return None
