"""``nnapi run``: run a model and show its results."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from time import perf_counter

import typer

import nnapi
from nnapi.cli.batch import UNRUNNABLE, RunLog, list_files, run_batch, run_windows
from nnapi.cli.cluster_runs import connect_if, run_on
from nnapi.cli.export import need_other_file
from nnapi.cli.failure import ExitCode, describe_failure, fail, warn
from nnapi.cli.inputs import FinishedRun, assign_to_runs, read_inputs
from nnapi.cli.options import add_profile
from nnapi.cli.printing import Console, console, duration, print_json
from nnapi.cli.progress import progress
from nnapi.cli.run_options import RunOptions, with_options
from nnapi.cli.run_results import (
    FailedRun,
    RunResult,
    compare_vectors,
    describe_run,
    describe_runs,
    draw_view,
    find_picture_format,
    select_finished,
    show,
    summarize,
    write_outputs,
)
from nnapi.cli.sounds import is_sound
from nnapi.cli.subject import Subject, load_subject
from nnapi.cluster.shards import Cluster
from nnapi.errors import Mistake
from nnapi.printable import pluralize
from nnapi.runtime.device import describe_substitutes
from nnapi.samples import find_input
from nnapi.vision.task import Task


@with_options
def run(options: RunOptions) -> None:
    """Run a model on pictures, arrays, recordings or random values, and show the results.

    Pictures are resized with bilinear interpolation. The values for black and white follow from the file's metadata,
    its quantization or its model family. The output names guesses; --range overrides them.
    """
    sample = find_input(options.model)
    files = list_files(options.inputs or ([sample] if sample else []))
    with progress(console(), 2 + max(1, len(files))) as step:
        step("reading the model")
        subject = load_subject(options)
        planned = assign_to_runs(subject.model, files)
        if options.picture and len(planned) > 1:
            raise Mistake(f"--picture needs a single run, got {len(planned)}: name a folder with --output instead")
        if options.picture:
            for file in files:
                need_other_file(file, options.picture, "name another picture")
            find_picture_format(options.picture)
        log = RunLog(options.jsonl, options.model.name) if options.jsonl else None
        planned = [paths for paths in planned if log is None or paths not in log]
        step("compiling")
        devices = add_profile(options.profile, options.device)
        compilation = nnapi.compile(subject.model, devices, threads=options.threads, precision=options.precision)
        every = Runs(options, subject, compilation, len(planned), log)
        if log:
            log.clean()
        with connect_if(options.on) as cluster:
            finished = every.start(planned, cluster)
            for number, paths in enumerate(planned, 1):
                step(f"running on {' + '.join(path.name for path in paths) or 'random values'}")
                every.add(number, paths, next(finished))
    every.finish()


@dataclass
class Runs:
    """All runs of one command."""

    options: RunOptions
    subject: Subject
    compilation: nnapi.Compilation
    count: int
    log: RunLog | None
    out: Console = field(default_factory=console)
    results: list[RunResult | FailedRun] = field(default_factory=list)
    failed: int = 0
    begun: float = field(default_factory=perf_counter)

    @cached_property
    def substitutes(self) -> list[str]:
        """A sentence for each device that has a substitute; no times are shown then."""
        return describe_substitutes(self.compilation.devices)

    def start(self, planned: Sequence[Sequence[Path]], cluster: Cluster | None) -> Iterator[FinishedRun | Exception]:
        subject, options = self.subject, self.options
        if cluster:
            names = [each.name for each in self.compilation.devices]
            predictor = nnapi.Predictor(
                subject.model, names, threads=options.threads or 1, precision=options.precision, cache=True
            )
            return run_on(cluster, predictor, planned, subject.pixels, options.seed)
        if subject.task is Task.AUDIO_EVENTS and all(len(paths) == 1 and is_sound(paths[0]) for paths in planned):
            return run_windows(self.compilation, [paths[0] for paths in planned], subject.sample_rate)
        reader = partial(read_inputs, subject.model, pixels=subject.pixels, seed=options.seed)
        return run_batch(self.compilation, planned, reader)

    def add(self, number: int, paths: Sequence[Path], finished: FinishedRun | Exception) -> None:
        """Add the next run. The error of one of several runs is reported, and the others run."""
        if isinstance(finished, Exception):
            self._add_failure(paths, finished)
            return
        if self.substitutes:
            finished = finished._replace(seconds=None, first=None)
        try:
            result = summarize(self.subject, finished, self.options.top)
        except UNRUNNABLE as error:
            self._add_failure(paths, error)
            return
        if self.log:
            self.log.add(paths, describe_run(self.subject.model, result))
        else:
            self.results.append(result)
        if not self.options.as_json and not self.log:
            show(self.out, result, self.compilation)  # first, in case no file can be written
        if self.options.picture:
            draw_view(self.options.picture, result)
        if self.options.output:
            write_outputs(self.options.output, result, number if self.count > 1 else None)

    def _add_failure(self, paths: Sequence[Path], error: Exception) -> None:
        if self.log is None and self.count == 1:
            raise error
        self.failed += 1
        words = describe_failure(error)[1]
        if self.log:
            self.log.add(paths, {"error": words})
        else:
            self.results.append(FailedRun([path.name for path in paths], words))
            warn(words)

    def finish(self) -> None:
        if self.log:
            self._finish_record(self.log)
        elif self.options.as_json:
            found = describe_runs(
                self.options.model, self.compilation, self.results, [*self.subject.notes, *self.substitutes]
            )
            print_json("run", found)
        else:
            for first, second, cosine in compare_vectors(select_finished(self.results)):
                self.out.print(f"{first} and {second}: cosine similarity {cosine:.4f}", markup=False)
            for note in [*self.subject.notes, *self.substitutes]:
                self.out.print(f"  {note}", style="dim", markup=False)
            if self.count > 1:
                took = duration(perf_counter() - self.begun)
                self.out.print(f"  {pluralize(self.count, 'run')} in {took}, inputs included", style="dim")
        if self.failed:
            failed = f"{self.failed} of {pluralize(self.count, 'run')} failed"
            words = f"{failed}; {self.options.jsonl} has the reasons" if self.log else failed
            raise typer.Exit(fail(words, ExitCode.REFUSED))

    def _finish_record(self, log: RunLog) -> None:
        before = [f"{log.before} succeeded before"] if log.before else []
        again = [f"{log.failed} failed before and ran again"] if log.failed else []
        words = ", ".join([f"{pluralize(self.count, 'run')} in {self.options.jsonl}", *before, *again])
        self.out.print(words, markup=False)
