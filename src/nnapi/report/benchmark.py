"""Benchmark several engines on the same models, inputs and number of threads, in alternating rounds."""

import gc
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from nnapi.model.operand import Array, OperandType
from nnapi.model.precision import PrecisionName
from nnapi.report.accuracy import measure_agreement
from nnapi.report.engines import Engine, Nnapi, Run, UnsuitableError, command, save
from nnapi.report.result import Measurement
from nnapi.report.timing import time_calls
from nnapi.runtime.executors.stopwatch import time_call
from nnapi.store.temporary import temporary_folder

Step = Callable[[str], None]
"""A callback that takes the name of the step that begins."""
Judge = Callable[[Run], Mapping[str, float]]
"""A function that returns the metrics of a run on a labeled data set."""
JudgeDevices = Callable[[Sequence[str], PrecisionName | None], Mapping[str, float]]
"""A function that returns the same metrics for devices of nnapi, by their names, local or remote, and a precision."""


@dataclass(frozen=True)
class BenchmarkSettings:
    """Settings of a benchmark; times are seconds.

    An engine runs for ``block`` in each round, and for ``patience`` in total; its throughput is measured if this takes
    less than ``throughput_patience``. Each turn begins with a pause of
    ``settle``, because threads of the previous engine may still spin, OpenVINO's for one millisecond. Then ``warm_up``
    runs are not timed, fewer if one takes longer than ``block`` and ``is_warm_up_short``. ``runs`` is the number of
    timed runs in all rounds; None if only the time limits it.
    """

    rounds: int = 10
    threads: int = 1
    requests: int = 1
    block: float = 0.05
    patience: float = 10.0
    throughput_patience: float = 10.0
    settle: float = 0.003
    warm_up: int = 2
    is_warm_up_short: bool = True
    most_runs: float = 200
    runs: int | None = None
    repeats: int = 5
    preparing: float = 3.0
    throughput_rounds: int = 5
    throughput_seconds: float = 0.2
    apart: bool = True
    """Whether a separate process first runs each engine, to measure its memory, and in case it crashes."""


@dataclass(frozen=True)
class Subject:
    """The subject of a benchmark: a model file, its inputs, the types of its outputs and their reference values."""

    file: Path
    inputs: Sequence[Array]
    output_types: Sequence[OperandType]
    expected: Sequence[Array] | None = None
    judge: Judge | None = None
    judge_devices: JudgeDevices | None = None
    """Used instead of ``judge`` for nnapi's own rows."""


@dataclass
class Course:
    engine: Engine
    measurement: Measurement
    runs: list[Run] = field(default_factory=list)
    """The run that is timed; for the throughput, the runs in flight."""
    spent: float = 0.0
    """Seconds spent in rounds."""

    @property
    def is_timed(self) -> bool:
        return not isinstance(self.engine, Nnapi) or self.engine.is_timed

    def record(self, **values: Any) -> None:
        self.measurement = replace(self.measurement, **values)


def find_available(engines: Sequence[Engine]) -> tuple[dict[Engine, str], dict[str, str]]:
    """Return the available engines with their versions, and the names of the others with the reasons."""
    found, absent = {}, {}
    for engine in engines:
        try:
            found[engine] = engine.version()
        except ImportError as error:
            absent[engine.name] = f"not installed: {error}"
        except Exception as error:  # a broken engine must not end the others' benchmark
            absent[engine.name] = f"{type(error).__name__}: {error}"
    return found, absent


def count_steps(engines: int, settings: BenchmarkSettings) -> int:
    """Return the maximum number of times that :func:`measure` calls ``step``."""
    return 4 * engines + settings.rounds + settings.throughput_rounds


def start_courses(engines: Mapping[Engine, str]) -> list[Course]:
    return [Course(engine, Measurement(engine.name, version)) for engine, version in engines.items()]


def measure(courses: Sequence[Course], subject: Subject, settings: BenchmarkSettings, step: Step) -> bool:
    """Measure all engines on one model; return whether the user interrupted it. Each course has its results so far."""
    from threadpoolctl import threadpool_limits  # for NumPy, which nnapi-reference uses

    try:
        with threadpool_limits(settings.threads, user_api="blas"):
            _alone(courses, subject, settings, step)
        with threadpool_limits(1, user_api="blas"):
            _saturate(courses, subject, settings, step)
    except KeyboardInterrupt:
        return True
    return False


def _alone(courses: Sequence[Course], subject: Subject, settings: BenchmarkSettings, step: Step) -> None:
    def each(name: str, work: Callable[[Course, Subject, BenchmarkSettings], None]) -> None:
        for course in _list_running(courses):
            step(f"{course.engine.name}: {name}")
            _try(course, partial(work, course, subject, settings))

    each("tuning", _tune)
    if settings.apart:
        _try_out(courses, subject, settings, step)
    each("loading and compiling", _prepare)
    each("accuracy", _judge)
    _time(courses, subject, settings, step)


def _list_running(courses: Sequence[Course]) -> list[Course]:
    return [course for course in courses if not course.measurement.failure]


def _list_timed(courses: Sequence[Course]) -> list[Course]:
    return [course for course in _list_running(courses) if course.is_timed]


def _try(course: Course, work: Callable[[], None]) -> None:
    """Do ``work`` for one engine; an error ends only this engine's measurement."""
    try:
        work()
    except UnsuitableError as error:
        course.record(failure=str(error))
    except Exception as error:
        course.record(failure=f"{type(error).__name__}: {error}")


def _try_out(courses: Sequence[Course], subject: Subject, settings: BenchmarkSettings, step: Step) -> None:
    with temporary_folder("bench") as folder:
        inputs = Path(folder) / "inputs.npy"
        save(inputs, subject.inputs)
        for course in filter(lambda each: each.is_timed, courses):
            step(f"{course.engine.name}: peak memory")
            peak, failure = peak_memory(course.engine, subject.file, inputs, settings.threads)
            course.record(peak=peak, failure=failure)


def peak_memory(engine: Engine, file: Path, inputs: Path, threads: int) -> tuple[int | None, str]:
    """Return the peak memory in bytes of a process that runs the model once; or None and the reason."""
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads)}
    done = subprocess.run(
        command(engine, file, inputs, threads),
        capture_output=True,
        text=True,
        errors="replace",
        env=environment,
        check=False,
    )
    if done.returncode < 0:
        return None, f"it takes its process down with {signal.Signals(-done.returncode).name}"
    try:
        found = json.loads(done.stdout.splitlines()[-1])
    except (ValueError, IndexError):
        return None, f"its process ended with {done.returncode}: {done.stderr.strip().splitlines()[-1:]}"
    return found.get("peak"), found.get("reason", "")


def _tune(course: Course, subject: Subject, settings: BenchmarkSettings) -> None:
    """Find and cache nnapi's fastest plan, so that this counts neither as compile time nor as memory."""
    if isinstance(course.engine, Nnapi):
        course.engine.open(subject.file, settings.threads).prepare(1)


def _prepare(course: Course, subject: Subject, settings: BenchmarkSettings) -> None:
    """Load and compile up to ``repeats`` times, for at most ``preparing`` seconds; keep the last compilation."""
    begun = time.perf_counter()
    while not (done := course.measurement.load) or (
        len(done) < settings.repeats and time.perf_counter() - begun < settings.preparing
    ):
        course.runs = []
        gc.collect()  # free the last compilation's memory outside the timed block
        start = time.perf_counter()
        opened = course.engine.open(subject.file, settings.threads)
        loaded = time.perf_counter()
        course.runs = opened.prepare(1)
        if not course.is_timed:
            course.record(devices=tuple(opened.devices()))
            return
        compile = (*course.measurement.compile, time.perf_counter() - loaded)
        course.record(compile=compile, load=(*done, loaded - start), devices=tuple(opened.devices()))


def _judge(course: Course, subject: Subject, settings: BenchmarkSettings) -> None:
    outputs = course.runs[0](subject.inputs)
    if subject.expected is not None:
        course.record(agreement=measure_agreement(subject.output_types, subject.expected, outputs))
    if subject.judge_devices is not None and isinstance(course.engine, Nnapi):
        course.record(accuracy=subject.judge_devices(course.measurement.devices, course.engine.precision))
    elif subject.judge is not None:
        course.record(accuracy=subject.judge(course.runs[0]))


def _time(courses: Sequence[Course], subject: Subject, settings: BenchmarkSettings, step: Step) -> None:
    """Time all engines in rounds; each round begins with a different engine."""
    for number in range(settings.rounds):
        step(f"round {number + 1} of {settings.rounds}")
        running = [course for course in _list_timed(courses) if course.spent < settings.patience]
        turn = number % len(running) if running else 0
        for course in running[turn:] + running[:turn]:
            start = time.perf_counter()
            _try(course, partial(_round, course, subject.inputs, settings, number))
            course.spent += time.perf_counter() - start


def _round(course: Course, inputs: Sequence[Array], settings: BenchmarkSettings, number: int) -> None:
    run, samples = partial(course.runs[0], inputs), list[float]()
    time.sleep(settings.settle)
    for _ in range(settings.warm_up):  # load instructions and weights into the caches again
        if time_call(run) > settings.block and settings.is_warm_up_short:
            break
    most = settings.most_runs if settings.runs is None else _share(settings.runs, settings.rounds, number)
    try:
        samples.extend(time_calls(run, settings.block, most=most))
    finally:  # keep the samples of an interrupted round
        if samples:
            course.record(latency=(*course.measurement.latency, tuple(samples)))


def _share(whole: int, parts: int, number: int) -> int:
    """Return the size of part ``number``, if ``whole`` is divided into nearly equal parts."""
    return whole // parts + (number < whole % parts)


def _saturate(courses: Sequence[Course], subject: Subject, settings: BenchmarkSettings, step: Step) -> None:
    """Measure throughput in rounds, with ``requests`` runs in flight, each on its own thread."""
    medians = [(course, course.measurement.median) for course in _list_timed(courses)]
    most = settings.throughput_patience
    quick = [each for each, m in medians if m is not None and m * settings.throughput_rounds < most]
    for number in range(settings.throughput_rounds):
        step(f"throughput, round {number + 1} of {settings.throughput_rounds}")
        for course in _list_running(quick):
            _try(course, partial(_throughput, course, subject, settings))


def _throughput(course: Course, subject: Subject, settings: BenchmarkSettings) -> None:
    if not course.measurement.requests:
        course.runs = course.engine.open(subject.file, 1).prepare(settings.requests)
        course.record(requests=settings.requests)
        for run in course.runs:
            run(subject.inputs)
    throughput = measure_rate(course.runs, subject.inputs, settings.throughput_seconds)
    course.record(throughput=(*course.measurement.throughput, throughput))


def measure_rate(runs: Sequence[Run], inputs: Sequence[Array], seconds: float) -> float:
    """Return the inferences per second with each run on its own thread; each thread finishes its last inference."""
    barrier = threading.Barrier(len(runs) + 1)

    def count(run: Run) -> int:
        barrier.wait()
        done = 0
        while not done or time.perf_counter() < end:
            run(inputs)
            done += 1
        return done

    with ThreadPoolExecutor(len(runs)) as pool:
        counts = [pool.submit(count, run) for run in runs]
        start = time.perf_counter()
        end = start + seconds
        barrier.wait()
        return sum(each.result() for each in counts) / (time.perf_counter() - start)
