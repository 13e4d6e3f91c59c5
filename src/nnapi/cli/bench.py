"""``nnapi bench``: measure models on nnapi's devices and in other engines, in alternating rounds."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.text import Text
from typer.core import TyperGroup

import nnapi
from nnapi.cli.accuracy import make_cluster_judge, make_judge
from nnapi.cli.bench_diff import diff
from nnapi.cli.bench_lengths import Runs, Seconds, WarmUp, set_lengths
from nnapi.cli.cluster_runs import On, connect_if
from nnapi.cli.command import Command, refuse_options
from nnapi.cli.completion import complete_list
from nnapi.cli.failure import ExitCode, fail, name_in_failure
from nnapi.cli.inputs import read_inputs
from nnapi.cli.interruption import before_end, writing
from nnapi.cli.options import (
    AsWeights,
    Json,
    JsonFile,
    ModelFiles,
    Names,
    Page,
    ProfileFile,
    Seed,
    Weights,
    add_profile,
    device_option,
    load,
    need_page,
    split_names,
)
from nnapi.cli.printing import console, print_json, table, write_json
from nnapi.cli.progress import progress
from nnapi.cluster.shards import Cluster
from nnapi.errors import Mistake, NnapiError
from nnapi.model.precision import Precision
from nnapi.printable import format_bytes, pluralize
from nnapi.report.benchmark import BenchmarkSettings, Step, Subject, count_steps, find_available, measure, start_courses
from nnapi.report.csv_table import csv_table
from nnapi.report.dataset import Example, read_dataset
from nnapi.report.engines import OTHERS, Engine, Nnapi
from nnapi.report.graph import graph_data
from nnapi.report.html import benchmark_page, metric, rate, ratio, seconds
from nnapi.report.machine import machine
from nnapi.report.result import Benchmark, ModelResult, to_data
from nnapi.report.summary import Line, geometric_mean, summarize
from nnapi.report.timeline import timeline_data
from nnapi.runtime.device import REFERENCE, describe_substitutes, list_candidates
from nnapi.runtime.thread_counts import MOST_THREADS
from nnapi.store.files import write_text
from nnapi.trace import recording
from nnapi.vision.families import find_family
from nnapi.vision.file_metadata import describe
from nnapi.vision.labels import read_labels
from nnapi.vision.pixel_ranges import find_pixels

MODELS = "run"


class _Bench(TyperGroup):
    """A group in which ``nnapi bench MODEL…`` means ``nnapi bench run MODEL…``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        named = bool(args) and args[0] in self.commands
        return super().parse_args(ctx, args if named or not args else [MODELS, *args])


app = typer.Typer(
    cls=_Bench, no_args_is_help=True, help="Measure models with nnapi and other engines; compare two runs."
)


@app.command(MODELS, cls=Command)
def bench(
    models: ModelFiles,
    device: Annotated[
        Names,
        device_option("Measure this device in a row of its own; repeat it for more. By default, the runtime chooses."),
    ] = None,
    profile: ProfileFile = None,
    against: Annotated[
        str,
        typer.Option(
            help="Engines to run on the same file, separated by commas, or 'none'.",
            autocompletion=complete_list([*OTHERS, "none"]),
        ),
    ] = ",".join(OTHERS),
    threads: Annotated[
        int, typer.Option("--threads", min=1, max=MOST_THREADS, help="Threads that a run of each engine may use.")
    ] = 1,
    rounds: Annotated[
        int, typer.Option(min=1, help="How many rounds to measure; each engine runs once per round.")
    ] = 10,
    seconds: Seconds = None,
    runs: Runs = None,
    warmup: WarmUp = None,
    requests: Annotated[
        int | None,
        typer.Option(
            min=1, max=MOST_THREADS, help="Concurrent requests while measuring throughput.", show_default="one per core"
        ),
    ] = None,
    dataset: Annotated[
        Path | None, typer.Option(help="Labeled inputs: a folder for each class, or a folder with labels.csv.")
    ] = None,
    labels: Annotated[Path | None, typer.Option(help="Names of the classes, one per line, for --dataset.")] = None,
    on: On = None,
    weights: AsWeights = None,
    precision: Annotated[
        list[Precision] | None,
        typer.Option(help="The least precise arithmetic permitted for float32; repeat it for more rows."),
    ] = None,
    only_latency: Annotated[
        bool, typer.Option("--only-latency", help="Do not measure memory and throughput, and omit the plan.")
    ] = False,
    reference: Annotated[bool, typer.Option(help="Compare outputs with nnapi-reference.")] = True,
    seed: Seed = 0,
    html: Page = None,
    csv: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a table to this file, with a row for each engine.")
    ] = None,
    as_json: Json = False,
    output: JsonFile = None,
) -> None:
    """Measure latency, throughput, loading, memory and accuracy of models, beside other engines on the same file.

    `nnapi bench diff A.json B.json` compares two runs. An interrupted run keeps its measurements.
    """
    if len(models) == 1 and not models[0].is_file():
        raise Mistake(f"{models[0]}: no such file")
    if on and (dataset is None or profile):
        raise Mistake("--on runs the examples of --dataset on a cluster: give --dataset, and omit --profile")
    need_page(html)
    refuse_options([] if dataset else ["labels"], "it needs --dataset")
    refuse_options(["requests"] if only_latency else [], "--only-latency measures no throughput")
    others = [] if against == "none" else [OTHERS[name] for name in split_names(against, "engine", OTHERS)]
    precisions = list(dict.fromkeys(map(str, precision or ())))
    engines, absent = find_available([*_ours(device, profile, weights, precisions), *others])
    settings = BenchmarkSettings(rounds=rounds, threads=threads, requests=requests or len(os.sched_getaffinity(0)))
    settings = set_lengths(settings, seconds, runs, warmup)
    if only_latency:
        settings = replace(settings, apart=False, throughput_rounds=0, repeats=1)
    examples = read_dataset(dataset, read_labels(labels) if labels else None) if dataset else []
    out = console()
    facts: dict[str, Any] = {"rounds": settings.rounds, "threads": threads, "requests": settings.requests}
    facts |= {
        name: value for name, value in (("seconds", seconds), ("runs", runs), ("warmup", warmup)) if value is not None
    }
    facts |= {"data set": str(dataset)} if dataset else {}
    facts |= {"inputs": f"random, seed {seed}"} | ({"weights": weights} if weights else {})
    benchmark = Benchmark(time.strftime("%Y-%m-%d %H:%M:%S %z"), machine(), facts, absent, (), False)
    elsewhere = len(examples) * sum(isinstance(engine, Nnapi) for engine in engines) if on else 0
    with connect_if(on) as cluster:

        def keep(unfinished: ModelResult) -> None:
            models = (*benchmark.models, unfinished)
            _write(output, html, csv, replace(benchmark, models=models, is_interrupted=True))

        session = _Session(engines, settings, weights, examples, reference, seed, cluster, keep)
        for number, file in enumerate(models, 1):
            title = f"{file.name} ({number} of {len(models)})" if len(models) > 1 else file.name
            with progress(out, 2 + count_steps(len(engines), settings) + elsewhere) as step:
                try:
                    found, interrupted = session.measure(file, partial(_show_step, step, title))
                except KeyboardInterrupt:
                    benchmark = replace(benchmark, is_interrupted=True)
                    break
            if not as_json:
                _show(out, found)
            benchmark = replace(benchmark, models=(*benchmark.models, found), is_interrupted=interrupted)
            _write(output, None, None, benchmark)
            if interrupted:
                break
    with writing():
        _write(output, html, csv, benchmark)
    if as_json:
        print_json("bench", to_data(benchmark))
    else:
        if len(benchmark.models) > 1:
            _show_summary(out, benchmark)
        _show_settings(out, benchmark)
    if benchmark.is_interrupted:
        raise typer.Abort
    if failed := sum(not any(m.is_ours and m.has_run for m in model.measurements) for model in benchmark.models):
        words = f"{failed} of {pluralize(len(benchmark.models), 'model')} failed"
        raise typer.Exit(fail(words, ExitCode.REFUSED))


def _show_step(step: Step, title: str, text: str) -> None:
    step(f"{title}: {text}")


def _ours(
    devices: Sequence[str] | None, profile: str | None, weights: Weights | None, precisions: Sequence[str]
) -> list[Engine]:
    rows = [tuple(add_profile(profile, None) or ())] if profile else []
    rows += [(name,) for name in dict.fromkeys(devices or ())]
    chosen: list[tuple[tuple[str, ...] | None, list[nnapi.Device]]]
    chosen = [(row, list_candidates(row)) for row in rows] or [(None, [])]  # raises if a device does not exist
    return [
        Nnapi(row, weights, each, not any(device.substitute for device in found))
        for row, found in chosen
        for each in precisions or (None,)
    ]


@dataclass(frozen=True)
class _Session:
    engines: dict[Engine, str]
    settings: BenchmarkSettings
    weights: Weights | None
    examples: Sequence[Example]
    reference: bool
    seed: int
    cluster: Cluster | None
    keep: Callable[[ModelResult], None]
    """Writes the results so far, if the process must end while it measures a model."""

    def measure(self, file: Path, step: Step) -> tuple[ModelResult, bool]:
        """Measure one model; also return whether the user interrupted it."""
        step("reading the model")
        result = ModelResult(file.name, str(file), 0, 0, "", "", ())
        try:
            result = replace(result, bytes=file.stat().st_size)
            model = load(file, weights=self.weights)
            given = read_inputs(model, [], seed=self.seed)
        except (NnapiError, Mistake, OSError) as error:
            return replace(result, notes=(name_in_failure(file, error),)), False
        inputs = [one.array for one in given]
        named = chain.from_iterable(engine.devices or () for engine in self.engines if isinstance(engine, Nnapi))
        notes = describe_substitutes(list_candidates([*dict.fromkeys(named)]))
        step("computing the reference")
        subject = Subject(file, inputs, [model.operands[index].type for index in model.outputs])
        if self.reference:
            try:
                subject = replace(subject, expected=nnapi.compile(model, REFERENCE).run(*inputs))
            except NnapiError as error:
                notes.append(f"no comparison with {REFERENCE}: {error}")
        if self.examples:
            pixels = find_pixels(model, describe(file).pixels, find_family(model))
            if pixels.guess and any(example.file.suffix != ".npy" for example in self.examples):
                notes.append(f"values of the data set's pictures are {pixels.guess}; .npy files need no guess")
            elsewhere = make_cluster_judge(self.cluster, model, self.examples, step, pixels) if self.cluster else None
            subject = replace(subject, judge=make_judge(model, self.examples, pixels), judge_devices=elsewhere)
        courses = start_courses(self.engines)
        result = replace(
            result,
            operations=len(model.operations),
            signature=_describe_signature(model),
            inputs="; ".join(dict.fromkeys(one.conversion for one in given)),
            examples=len(self.examples),
        )

        def collect() -> ModelResult:
            return replace(result, measurements=tuple(course.measurement for course in courses), notes=tuple(notes))

        timed = (course.engine for course in courses if course.is_timed)
        ours = next((engine for engine in timed if isinstance(engine, Nnapi)), None)
        graph = timeline = None
        with before_end(lambda: self.keep(collect())):
            interrupted = measure(courses, subject, self.settings, step)
            if ours and not interrupted and self.settings.apart:
                try:
                    graph, timeline = _trace_plan(model, ours, inputs, self.settings.threads)
                except NnapiError as error:
                    notes.append(f"no plan: {error}")
                except KeyboardInterrupt:
                    interrupted = True
        return replace(collect(), graph=graph, timeline=timeline), interrupted


def _describe_signature(model: nnapi.Model) -> str:
    return " → ".join(", ".join(_type(model, index) for index in side) for side in (model.inputs, model.outputs))


def _type(model: nnapi.Model, index: int) -> str:
    type = model.operands[index].type
    shape = ", ".join(str(dimension or "?") for dimension in type.dimensions)
    return f"{type.name.removeprefix('TENSOR_').lower()} [{shape}]"


def _trace_plan(
    model: nnapi.Model, engine: Nnapi, inputs: Sequence[Any], threads: int
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    compilation = nnapi.compile(model, engine.devices, threads=threads, precision=engine.precision)
    compilation.run(*inputs)
    with recording() as recorder:
        compilation.run(*inputs)
    spans = recorder.spans()
    return graph_data(compilation.plan), timeline_data(spans) if spans else None


def _write(file: Path | None, page: Path | None, csv: Path | None, benchmark: Benchmark) -> None:
    if file is not None:
        write_json(file, "bench", to_data(benchmark))
    if page is not None:
        write_text(page, benchmark_page(benchmark))
    if csv is not None:
        write_text(csv, csv_table(benchmark))


def _show(out: Console, result: ModelResult) -> None:
    best = result.best(ours=False)
    metrics = list(dict.fromkeys(name for m in result.measurements for name in m.accuracy))
    times = ["median", "minimum", "p90", "p99"]
    others = ["throughput", "load", "compile", "peak"]
    headings = [*times, "× other", *others, "outputs", *metrics]
    rows = table("engine", *headings, right=[*times, "× other", *others, *metrics])
    out.print(Text.assemble((result.name, "bold"), f"  {pluralize(result.operations, 'operation')}"))
    for m in result.measurements:
        if not m.is_shown:
            continue
        gain = ratio(m, best)
        color = "" if gain is None or not m.is_ours else "green" if gain >= 1 else "red"
        rows.add_row(
            Text(m.engine),
            *("" if value is None else seconds(value) for value in (m.median, m.minimum, m.p90, m.p99)),
            Text("" if gain is None else f"{gain:.2f}", style=color),
            "" if m.rate is None else rate(m.rate),
            *(seconds(sorted(times)[len(times) // 2]) if times else "" for times in (m.load, m.compile)),
            "" if m.peak is None else format_bytes(m.peak),
            "" if m.agreement is None else str(m.agreement),
            *(metric(name, m.accuracy[name]) if name in m.accuracy else "" for name in metrics),
        )
    out.print(rows)
    for m in result.measurements:
        if m.engine == "nnapi" and m.devices:
            out.print(f"[dim]nnapi chose {escape(' + '.join(m.devices))}[/]")
        if m.failure:
            out.print(f"[yellow]{escape(m.engine)}: {escape(m.failure)}[/]")
    for note in result.notes:
        out.print(f"[yellow]{escape(note)}[/]")
    out.print()


def _show_summary(out: Console, benchmark: Benchmark) -> None:
    lines = summarize(benchmark)
    engines = list(dict.fromkeys(name for line in lines for name in line.times))
    ratios = ["× best other", "× litert"]
    rows = table("model", "on", *engines, "best other", *ratios, right=[*engines, *ratios])
    for line in lines:
        times = (_describe_time(line, name) for name in engines)
        known = ("" if value is None else f"{value:.2f}" for value in (line.ratio, line.alone))
        rows.add_row(Text(line.name), " + ".join(line.devices), *times, line.best or "", *known)
    means = [geometric_mean([line.ratio for line in lines]), geometric_mean([line.alone for line in lines])]
    if any(means):
        known = ("" if mean is None else f"{mean[0]:.3f} ({mean[1]})" for mean in means)
        rows.add_row(Text("geometric mean", "bold"), "", *[""] * len(engines), "", *known)
    out.print(rows)


def _describe_time(line: Line, name: str) -> str:
    if name not in line.times:
        return ""
    return f"{1e3 * line.times[name]:.3g} ms{' (wrong)' * (name in line.wrong)}"


def _show_settings(out: Console, benchmark: Benchmark) -> None:
    for name, reason in benchmark.absent.items():
        out.print(f"[dim]{escape(name)} not measured: {escape(reason)}[/]")
    settings = benchmark.settings
    requests = f", throughput with {pluralize(settings['requests'], 'request')} in flight, one thread each"
    has_rates = any(each.rate is not None for model in benchmark.models for each in model.measurements)
    out.print(
        f"[dim]{pluralize(settings['threads'], 'thread')}, {pluralize(settings['rounds'], 'round')} in "
        f"turns{requests if has_rates else ''}; {benchmark.machine['processor']}[/]",
        highlight=False,
    )


app.command("diff", cls=Command)(diff)
