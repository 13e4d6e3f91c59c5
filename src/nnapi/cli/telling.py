"""What a run says, by what its model is for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import nnapi
from nnapi.cli.batch import Sounding
from nnapi.cli.cluster_runs import Ended
from nnapi.cli.events import draw_events, find_events, say_events
from nnapi.cli.inputs import Given
from nnapi.cli.outputs import class_count, output_operands, rank, real, summaries, to_shares
from nnapi.cli.pictures import open_picture
from nnapi.cli.run_results import Ran
from nnapi.cli.tasks import VIEWS, Hints, Task, View, name_class, view


class Teller(NamedTuple):
    """Knows the model, what it is for and how many classes to tell."""

    model: nnapi.Model
    hints: Hints
    top: int
    task: Task | None

    def tell(self, ended: Ended | Sounding) -> Ran:
        """What a run says."""
        if isinstance(ended, Sounding):
            return self._tell_events(ended)
        given, outputs, seconds = ended
        model, hints, task = self.model, self.hints, self.task
        found = summaries(model, outputs)
        is_classifier = task is Task.CLASSIFICATION or (task in (None, Task.AUDIO_EVENTS) and class_count(model))
        ranks = rank(model, outputs[0], hints.labels, self.top) if is_classifier else []
        seen = view(task, model, outputs, hints, _find_picture(given)) if task in VIEWS else None
        vector = None
        if task is Task.EMBEDDING:
            vector = real(output_operands(model)[0].type, outputs[0]).reshape(-1).astype(np.float64)
        return Ran(given, outputs, seconds, ranks, found, seen, labels=hints.labels, vector=vector)

    def _tell_events(self, ended: Sounding) -> Ran:
        """Each window's outputs one after the other in the first dimension."""
        shares = to_shares(self.model, ended.outputs[0])
        step, length = ended.step, ended.length
        if len(shares) > ended.windows:  # the model has rows of its own within what it is given
            step = length = ((ended.windows - 1) * step + length) / len(shares)
        events = find_events(shares, step, length, self.hints.least)
        names = [name_class(number, self.hints.labels) for number in range(shares.shape[1])]
        words = say_events(events, [names[event.number] for event in events])
        seen = View(words, draw_events(shares, step, length, names))
        found = summaries(self.model, ended.outputs)
        return Ran(ended.given, ended.outputs, ended.seconds, [], found, seen, tuple(events), self.hints.labels)


def _find_picture(given: Sequence[Given]) -> Any:
    """The picture that went in, at its own size; None where none did."""
    for value in given:
        if value.file and value.done.find("pixel") >= 0:
            return open_picture(value.file, 3)
    return None
