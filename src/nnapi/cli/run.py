"""``nnapi run``: run a model and show its results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import perf_counter

import nnapi
from nnapi.cli.batch import Failure, Kept, list_files, run_batch, run_windows
from nnapi.cli.cluster_runs import connect_if, run_on
from nnapi.cli.failure import message
from nnapi.cli.inputs import Ended, read_inputs, runs
from nnapi.cli.options import add_profile
from nnapi.cli.progress import progress
from nnapi.cli.run_options import RunOptions, with_options
from nnapi.cli.run_results import Ran, compare_vectors, describe_run, describe_runs, draw, name_files, show, write
from nnapi.cli.sounds import is_sound
from nnapi.cli.subject import Subject, study
from nnapi.cli.telling import tell
from nnapi.cli.text import Console, console, duration, print_json
from nnapi.cluster.shards import Cluster
from nnapi.errors import Mistake
from nnapi.printable import pluralize
from nnapi.vision.task import Task


@with_options
def run(options: RunOptions) -> None:
    """Run a model on pictures, arrays, recordings or random values, and say what it sees.

    Pictures are resized with bilinear interpolation. The file's metadata, its quantization or its family say which
    values stand for black and white; the output says where that is guessed, and --range sets it.
    """
    options.check()
    files = list_files(options.inputs or [])
    with progress(console(), 2 + max(1, len(files))) as step:
        step("reading the model")
        subject = study(options)
        planned = runs(subject.model, files)
        if options.picture and len(planned) > 1:
            raise Mistake(f"--picture takes one run, not {len(planned)}: give --output a folder instead")
        kept = Kept(options.jsonl, options.model.name) if options.jsonl else None
        planned = [paths for paths in planned if kept is None or paths not in kept]
        step("compiling")
        compilation = nnapi.compile(
            subject.model, add_profile(options.profile, options.device), threads=options.threads
        )
        results = Results(options, subject, compilation, len(planned), kept)
        if kept:
            kept.clean()
        with connect_if(options.on) as cluster:
            ended = start(options, subject, compilation, planned, cluster)
            for paths in planned:
                step(f"running on {' + '.join(path.name for path in paths) or 'random values'}")
                results.add(paths, next(ended))
    results.finish()


def start(
    options: RunOptions,
    subject: Subject,
    compilation: nnapi.Compilation,
    planned: Sequence[Sequence[Path]],
    cluster: Cluster | None,
) -> Iterator[Ended | Failure]:
    """Run on a cluster, on windows of recordings, or on all cores of this machine."""
    if cluster:
        names = [each.name for each in compilation.devices]
        return run_on(cluster, subject.model, names, planned, subject.pixels, options.seed)
    if subject.task is Task.AUDIO_EVENTS and all(len(paths) == 1 and is_sound(paths[0]) for paths in planned):
        return run_windows(compilation, [paths[0] for paths in planned], subject.sample_rate)
    reader = partial(read_inputs, subject.model, pixels=subject.pixels, seed=options.seed)
    return run_batch(compilation, planned, reader)


@dataclass
class Results:
    """Print, draw and record each run at its end."""

    options: RunOptions
    subject: Subject
    compilation: nnapi.Compilation
    count: int
    kept: Kept | None
    out: Console = field(default_factory=console)
    done: list[Ran] = field(default_factory=list)
    number: int = 0
    failed: int = 0
    begun: float = field(default_factory=perf_counter)

    def add(self, paths: Sequence[Path], ended: Ended | Failure) -> None:
        """Add the next run; a failure ends the command unless it is recorded."""
        self.number += 1
        if isinstance(ended, Failure):
            if self.kept is None:
                raise ended.error
            self.failed += 1
            self.kept.add(paths, {"error": message(ended.error)})
            return
        ran = tell(self.subject, ended, self.options.top)
        if self.kept:
            self.kept.add(paths, describe_run(self.subject.model, ran))
        else:
            self.done.append(ran)
        if not self.options.as_json and not self.kept:
            show(self.out, ran, self.compilation)  # first: the answer is there, even where a file cannot be written
        if self.options.picture:
            draw(self.options.picture, ran.view)
        if self.options.output:
            write(self.options.output, ran, name_files(ran, self.count, self.number))

    def finish(self) -> None:
        """Print the notes on all runs; Mistake if recorded runs failed."""
        if self.kept:
            self._finish_record(self.kept)
        elif self.options.as_json:
            print_json(describe_runs(self.options.model, self.compilation, self.done, self.subject.notes))
        else:
            for first, second, cosine in compare_vectors(self.done):
                self.out.print(f"{first} and {second}: cosine similarity {cosine:.4f}", markup=False)
            for note in self.subject.notes:
                self.out.print(f"  {note}", style="dim", markup=False)
            if self.count > 1:
                took = duration(perf_counter() - self.begun)
                self.out.print(f"  {pluralize(self.count, 'run')} in {took}, inputs included", style="dim")

    def _finish_record(self, kept: Kept) -> None:
        before = [f"{kept.before} succeeded before"] if kept.before else []
        again = [f"{kept.failed} failed before and ran again"] if kept.failed else []
        words = ", ".join([f"{pluralize(self.count, 'run')} in {self.options.jsonl}", *before, *again])
        self.out.print(words, markup=False)
        if self.failed:
            raise Mistake(f"{self.failed} of them failed: {self.options.jsonl} says why")
