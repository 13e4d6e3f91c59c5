"""Each option of each command has an effect; where it would have none, the command refuses it."""

import os
import re
import shlex
import shutil
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from typer.testing import CliRunner

import nnapi
from nnapi.capi import installation
from nnapi.cli import app
from nnapi.cli.printing import write_json
from nnapi.testing.suite.expectations import Judged
from nnapi.testing.suite.record import describe_judged
from nnapi.testing.suite.result import Result, Status, Verdict
from tools.automation import list_options, name_option

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits_quant.tflite"
ON = "-d nnapi-reference"
BENCH = f"bench @m.tflite {ON} --against none --rounds 1"
TWO = f"{ON} -d arm_nn.toml"
CHECK = f"check --filter RELU6 --variants plain {ON}"


class Effect(NamedTuple):
    """A line without the option, the option, and functions: their arguments, or the output or files, must change.

    Functions after ``!`` are called, those after ``~`` are not, and the others end the command.
    """

    line: str
    option: str
    watched: str = ""


SESSION = "nnapi.cli.bench._Session"
QUANTIZE = "quantize @f.tflite -o @out.tflite --data @set --samples 1"
QUANTIZE_FILE = "nnapi.cli.quantize.quantize_file"
RUN_EXAMPLES = "nnapi.cli.check.check_examples nnapi.cli.check.check_random"
MIGRATE = "~nnapi.cli.migrate._migrate"
SERVICE = "nnapi.cli.serve.Service"
LOAD = "nnapi.load"
COMPILE = "nnapi.compile"


def load_options(line: str) -> dict[str, Effect]:
    """Return the effects of the options of loading; m.model is a file of either format."""
    return {
        "--int16-as-float": Effect(line, "--int16-as-float", LOAD),
        "--weights": Effect(line, "--weights dynamic-range", LOAD),
        "--shape": Effect(line, "--shape image=1,8,8,1", LOAD),
    }


EFFECTS: dict[str, dict[str, Effect]] = {
    "bench diff": {
        "--alpha": Effect("bench diff @b.json @b.json", "--alpha 0.1", "nnapi.cli.bench_diff.compare"),
        "--threshold": Effect("bench diff @b.json @b.json", "--threshold 0.3", "nnapi.cli.bench_diff.compare"),
        "--all": Effect("bench diff @b.json @b.json", "--all", "!nnapi.cli.bench_diff._show"),
        "--json": Effect("bench diff @b.json @b.json", "--json"),
    },
    "bench run": {
        "--device": Effect("bench @m.tflite --against none", ON, SESSION),
        "--profile": Effect("bench @m.tflite --against none", "--profile arm_nn", SESSION),
        "--against": Effect("bench @m.tflite", "--against none", SESSION),
        "--threads": Effect(BENCH, "--threads 2", SESSION),
        "--rounds": Effect(f"bench @m.tflite {ON} --against none", "--rounds 3", SESSION),
        "--seconds": Effect(BENCH, "--seconds 3", SESSION),
        "--runs": Effect(BENCH, "--runs 3", SESSION),
        "--warmup": Effect(BENCH, "--warmup 3", SESSION),
        "--requests": Effect(BENCH, "--requests 3", SESSION),
        "--dataset": Effect(BENCH, "--dataset @set --labels @l.txt", SESSION),
        "--labels": Effect(f"{BENCH} --dataset @set", "--labels @l.txt", "nnapi.cli.bench.read_dataset"),
        "--on": Effect(f"{BENCH} --dataset @set --labels @l.txt", "--on ray", "nnapi.cli.bench.connect_if"),
        "--weights": Effect(BENCH, "--weights dynamic-range", SESSION),
        "--precision": Effect(BENCH, "--precision float16", SESSION),
        "--only-latency": Effect(BENCH, "--only-latency", SESSION),
        "--reference": Effect(BENCH, "--no-reference", SESSION),
        "--seed": Effect(BENCH, "--seed 3", SESSION),
        "--html": Effect(f"{BENCH} --only-latency", "--html @out.html"),
        "--csv": Effect(f"{BENCH} --only-latency", "--csv @out.csv"),
        "--json": Effect(f"{BENCH} --only-latency", "--json"),
        "--output": Effect(f"{BENCH} --only-latency", "-o @out.json"),
    },
    "cache list": {"--json": Effect("cache list @set", "--json")},
    "cache prune": {
        "--limit": Effect("cache prune @set", "--limit 1MB", "!nnapi.cli.cache.remove"),
        "--json": Effect("cache prune @set", "--json"),
    },
    "check diff": {
        "--all": Effect("check diff @c.json @d.json", "--all"),
        "--json": Effect("check diff @c.json @d.json", "--json"),
    },
    "check page": {"--output": Effect("check page @c.json", "-o @out.html")},
    "check run": {
        "--device": Effect("check --filter RELU6", ON, RUN_EXAMPLES),
        "--profile": Effect("check --filter RELU6", "--profile arm_nn", RUN_EXAMPLES),
        "--variants": Effect("check --filter RELU6", "--variants plain", RUN_EXAMPLES),
        "--filter": Effect("check", "--filter RELU6", RUN_EXAMPLES),
        "--jobs": Effect(CHECK, "-j 2", RUN_EXAMPLES),
        "--strict": Effect(CHECK, "--strict", RUN_EXAMPLES),
        "--via-c": Effect(CHECK, "--via-c", RUN_EXAMPLES),
        "--baseline": Effect(CHECK, "--baseline @list", RUN_EXAMPLES),
        "--save-baseline": Effect(CHECK, "--save-baseline @out.csv", RUN_EXAMPLES),
        "--flakes": Effect(CHECK, "--flakes @list", RUN_EXAMPLES),
        "--skip": Effect(CHECK, "--skip @list", RUN_EXAMPLES),
        "--shard": Effect(CHECK, "--shard 1/2", RUN_EXAMPLES),
        "--resume": Effect(CHECK, "--resume @out.jsonl", RUN_EXAMPLES),
        "--timeout": Effect(CHECK, "--timeout 3", RUN_EXAMPLES),
        "--json": Effect(CHECK, "--json", RUN_EXAMPLES),
        "--output": Effect(CHECK, "-o @out.json", RUN_EXAMPLES),
        "--html": Effect(CHECK, "--html @out.html", RUN_EXAMPLES),
        "--junit": Effect(CHECK, "--junit @out.xml", RUN_EXAMPLES),
        "--csv": Effect(CHECK, "--csv @out.csv", RUN_EXAMPLES),
        "--random": Effect(f"check --filter RELU6 {ON}", "--random", RUN_EXAMPLES),
        "--seconds": Effect("check --random", "--seconds 3", RUN_EXAMPLES),
        "--seed": Effect("check --random", "--seed 3", RUN_EXAMPLES),
        "--values": Effect("check --random", "--values denormal", RUN_EXAMPLES),
        "--failures": Effect("check --random", "--failures @set", RUN_EXAMPLES),
        "--against": Effect("check --random", "--against .tflite", RUN_EXAMPLES),
        "--verbose": Effect("check --random", "-v", RUN_EXAMPLES),
    },
    "compare": {
        "--device": Effect(f"compare @m.tflite {ON}", "-d arm_nn.toml", "!nnapi.cli.compare.find_divergence"),
        "--against": Effect(f"compare @m.tflite {ON}", "--against litert", "!nnapi.cli.compare.open_engine"),
        "--seed": Effect(f"compare @m.tflite {ON}", "--seed 3", "!nnapi.cli.compare.read_one_run"),
        "--all": Effect(f"compare @m.tflite {ON}", "--all"),
        **load_options(f"compare @m.model {ON}"),
        "--json": Effect(f"compare @m.tflite {ON}", "--json"),
        "--html": Effect(f"compare @m.tflite {ON}", "--html @out.html"),
    },
    "devices": {
        "--verbose": Effect(f"devices {ON}", "-v"),
        "--costs": Effect(f"devices {ON}", "--costs"),
        "--save-profile": Effect(f"devices {ON}", "--save-profile @p.toml", "nnapi.cli.devices._save_profile"),
        "--matrix": Effect("devices --save-profile @out.toml", "--matrix @m.csv"),
        "--device": Effect("devices --json", "-d arm_nn.toml"),
        "--json": Effect(f"devices {ON}", "--json"),
    },
    "explain": {
        "--device": Effect("explain @m.tflite", "-d arm_nn.toml"),
        "--profile": Effect("explain @m.tflite", "--profile arm_nn"),
        "--threads": Effect(f"explain @m.tflite {ON}", "--threads 2", COMPILE),
        "--html": Effect(f"explain @m.tflite {ON}", "--html @out.html"),
        **load_options(f"explain @m.model {ON}"),
        "--precision": Effect(f"explain @m.tflite {ON}", "--precision float16", COMPILE),
        "--json": Effect(f"explain @m.tflite {ON}", "--json"),
    },
    "export": {
        "--output": Effect("export @m.tflite", "-o @out.tflite"),
        "--format": Effect("export @m.tflite -o @set", "--format onnx", "nnapi.cli.export._write"),
        **load_options("export @m.model -o @out.tflite"),
        "--force": Effect("export @m.tflite -o @m.tflite", "--force", "nnapi.cli.export._write"),
        "--for": Effect("export @m.tflite -o @out.tflite", "--for none", "nnapi.cli.export.open_compiler"),
    },
    "golden": {
        "--output": Effect("golden @m.tflite", "-o @out"),
        "--seed": Effect("golden @m.tflite -o @out", "--seed 3", "nnapi.cli.golden.read_one_run"),
        "--json": Effect("golden @m.tflite -o @out", "--json"),
        **load_options("golden @m.model -o @out"),
    },
    "info": {**load_options("info @m.model"), "--json": Effect("info @m.tflite", "--json")},
    "lib": {
        name: Effect("lib", name) for name in ("--env", "--include", "--cflags", "--libs", "--pkg-config", "--agent")
    },
    "migrate": {
        "--output": Effect("migrate @m.tflite", "-o @out", "nnapi.cli.migrate._migrate"),
        "--html": Effect("migrate @m.tflite -o @out", "--html @out.html", MIGRATE),
        "--device": Effect(
            "migrate @m.tflite -o @out", "-d arm_nn.toml", f"!nnapi.cli.migrate.DeviceAccelerator {MIGRATE}"
        ),
        "--seed": Effect("migrate @m.tflite -o @out", "--seed 3", "nnapi.cli.migrate.read_arrays"),
        "--json": Effect("migrate @m.tflite -o @out", "--json", MIGRATE),
    },
    "phone connect": {"--name": Effect("phone connect x", "--name pixel", "nnapi.devices")},
    "phone push": {
        "--binary": Effect("phone push x", "--binary @m.tflite", "nnapi.host.adb.push_agent"),
        "--name": Effect("phone push x", "--name pixel", "nnapi.cli.phone.connect ~nnapi.host.adb.push_agent"),
    },
    "quantize": {
        "--output": Effect(QUANTIZE, "-o @out2.tflite"),
        "--data": Effect("quantize @f.tflite -o @out.tflite --scheme dynamic", "--data @set --samples 1"),
        "--scheme": Effect(QUANTIZE, "--scheme dynamic", f"!{QUANTIZE_FILE}"),
        "--calibrate": Effect(QUANTIZE, "--calibrate 1", "nnapi.cli.quantize.CalibrationInputs"),
        "--samples": Effect(QUANTIZE, "--samples 2"),
        "--range": Effect(QUANTIZE, "--range 0,255", "nnapi.cli.quantize.CalibrationInputs"),
        "--mean": Effect(QUANTIZE, "--mean 9", "nnapi.cli.quantize.CalibrationInputs"),
        "--std": Effect(QUANTIZE, "--std 9", "nnapi.cli.quantize.CalibrationInputs"),
        "--all": Effect(QUANTIZE, "--all"),
        "--shape": Effect("quantize @f.onnx -o @out.onnx --data @set", "--shape image=1,8,8,1", LOAD),
        "--html": Effect(QUANTIZE, "--html @out.html"),
        "--force": Effect("quantize @f.tflite -o @f.tflite --data @set", "--force", QUANTIZE_FILE),
        "--json": Effect(QUANTIZE, "--json"),
    },
    "run": {
        "--device": Effect("run @m.tflite", "-d arm_nn.toml"),
        "--threads": Effect("run @m.tflite", "--threads 2", COMPILE),
        "--profile": Effect("run @m.tflite", "--profile arm_nn"),
        "--labels": Effect(f"run @m.tflite {ON}", "--labels @l.txt"),
        "--top": Effect(f"run @m.tflite {ON}", "--top 2"),
        "--score": Effect(f"run @m.tflite {ON} --as pose", "--score 0.3", "nnapi.cli.subject.Hints"),
        "--range": Effect(f"run @m.tflite @x.png {ON}", "--range 0,1", "nnapi.cli.inputs.read_picture"),
        "--mean": Effect(f"run @m.tflite @x.png {ON}", "--mean 9", "nnapi.cli.inputs.read_picture"),
        "--std": Effect(f"run @m.tflite @x.png {ON}", "--std 9", "nnapi.cli.inputs.read_picture"),
        "--seed": Effect(f"run @m.tflite {ON}", "--seed 3"),
        **load_options(f"run @m.model {ON}"),
        "--precision": Effect("run @m.tflite", "--precision float16", COMPILE),
        "--json": Effect(f"run @m.tflite {ON}", "--json"),
        "--output": Effect(f"run @m.tflite {ON}", "-o @out"),
        "--as": Effect(f"run @m.tflite {ON}", "--as embedding"),
        "--picture": Effect(f"run @m.tflite @x.png {ON}", "--picture @out.png"),
        "--on": Effect(f"run @m.tflite {ON}", "--on ray", "nnapi.cli.run.connect_if"),
        "--jsonl": Effect(f"run @m.tflite {ON}", "--jsonl @out.jsonl"),
    },
    "serve": {
        "--device": Effect("serve @socket", "-d arm_nn.toml", SERVICE),
        "--mode": Effect("serve @socket", "--mode 660", SERVICE),
        "--applications": Effect("serve @socket", "--applications 3", SERVICE),
        "--rate": Effect("serve @socket", "--rate 3", SERVICE),
        "--memory": Effect("serve @socket", "--memory 333", SERVICE),
        "--models": Effect("serve @socket", "--models 3", SERVICE),
        "--max-threads": Effect("serve @socket", "--max-threads 3", SERVICE),
        "--descriptors": Effect("serve @socket", "--descriptors 99", SERVICE),
        "--timeout": Effect("serve @socket", "--timeout 3", SERVICE),
    },
    "strace": {
        "--count": Effect("strace true", "-c", "nnapi.cli.strace.Calls"),
        "--output": Effect("strace true", "-o @out.txt", "nnapi.cli.strace.listen"),
        "--calls": Effect("strace true", "--calls Model_*", "nnapi.cli.strace.Calls"),
    },
    "trace parse": {
        name: Effect("trace parse @t.json", name)
        for name in ("--total-times", "--print-detail", "--per-execution", "--json")
    },
    "trace record": {
        "--output": Effect("trace @m.tflite", "-o @out.html"),
        "--runs": Effect(f"trace @m.tflite -o @out.txt {ON}", "--runs 1"),
        "--device": Effect("trace @m.tflite -o @out.txt", "-d arm_nn.toml", COMPILE),
        "--threads": Effect("trace @m.tflite -o @out.txt", "--threads 2", COMPILE),
        "--seed": Effect("trace @m.tflite -o @out.txt", "--seed 3", "nnapi.cli.trace.read_arrays"),
        **load_options("trace @m.model -o @out.txt"),
        "--precision": Effect("trace @m.tflite -o @out.txt", "--precision float16", COMPILE),
    },
    "tune": {
        "--device": Effect("tune @m.tflite", ON, "nnapi.tune"),
        "--input": Effect("tune @m.tflite", "--input @x.npy", "nnapi.tune"),
        "--threads": Effect("tune @m.tflite", "--threads 2", "nnapi.tune"),
        "--weights": Effect("tune @m.model", "--weights dynamic-range", LOAD),
        "--precision": Effect("tune @m.tflite", "--precision float16", "nnapi.tune"),
        "--json": Effect(f"tune @m.tflite {ON}", "--json"),
    },
    "view": {
        "--device": Effect("view @m.tflite -o @out.html", "-d arm_nn.toml", COMPILE),
        "--profile": Effect("view @m.tflite -o @out.html", "--profile arm_nn", COMPILE),
        "--output": Effect(f"view @m.tflite {ON}", "-o @out.html", "nnapi.cli.view._choose_file"),
        "--node-data": Effect(f"view @m.tflite {ON} -o @out.html", "--node-data @out.json"),
        "--threads": Effect(f"view @m.tflite {ON} -o @out.html", "--threads 2", COMPILE),
        **load_options(f"view @m.model {ON} -o @out.html"),
        "--precision": Effect(f"view @m.tflite {ON} -o @out.html", "--precision float16", COMPILE),
    },
}
EVERY = {(name, option): effect for name, options in EFFECTS.items() for option, effect in options.items()}
REFUSED = [
    "golden @m.tflite @x.npy -o @out --seed 3",
    "export @m.tflite -o @out.tflite --format onnx",
    "export @e.npz -o @set --weights dynamic-range",
    "export @e.npz -o @set --force",
    "export @e.npz -o @set --for SM8650",
    "export @m.tflite -o @out.bin --for SM8650 --force",
    "info @e.npz --int16-as-float",
    "info @m.onnx --int16-as-float",
    "devices --matrix none.csv",
    "devices --matrix @m.csv --save-profile @out.toml -d nnapi-reference",
    "devices --save-profile @out.toml -d nnapi-reference --json",
    "devices --costs -v",
    "lib --cflags --env",
    "lib --include --agent",
    "run @m.tflite --score 0.3",
    "run @m.tflite --as pose --score 7",
    "run @m.tflite --as pose --score nan",
    "run @m.tflite --as pose --score=-1",
    "run @m.tflite --as pose --top 3",
    "run @m.tflite --range 0,1",
    "run @m.tflite --mean 3",
    "run @m.tflite @x.png --mean nan",
    "run @m.tflite @x.png --range 0,inf",
    "run @m.tflite @x.npy --seed 3",
    "run @m.tflite --jsonl @out.jsonl --json",
    "run @m.tflite @x.png --picture @out.txt",
    "explain @m.tflite --html @out.txt",
    "explain @m.tflite --profile none",
    "compare @m.tflite @x.npy --seed 3",
    "compare @m.tflite --against @e.npz --html @out.html",
    "compare @m.tflite --against @e.npz --all",
    "check --seconds 3",
    "check --random --seconds nan",
    "check --random --seconds inf",
    "check --against litert",
    "check -v",
    "check --random --strict",
    "check --random --variants plain",
    f"check --random {TWO} --baseline @list",
    f"check --random {TWO} --save-baseline @out.csv",
    f"check --random {TWO} --resume @out.jsonl",
    "check --shard 2",
    "check --html @out.txt",
    "check diff @c.json @d.json --json --all",
    "check page @c.json -o @out.txt",
    "bench @m.tflite --labels @l.txt",
    "bench @m.tflite --only-latency --requests 3",
    "bench @m.tflite --html @out.txt",
    "bench diff @b.json @b.json --alpha nan",
    "bench diff @b.json @b.json --threshold inf",
    "bench diff @b.json @b.json --all --json",
    "compare @m.tflite --all --json",
    "quantize @f.tflite -o @out.tflite --scheme dynamic --data @set --calibrate 3",
    "quantize @f.tflite -o @out.tflite --scheme dynamic --data @set --samples 0",
    "quantize @f.tflite -o @out.tflite --scheme dynamic --mean 3",
    "quantize @f.tflite -o @out.tflite --data @set --samples 0 --all",
    "quantize @f.tflite -o @out.tflite --data @set --all --json",
    "quantize @f.tflite -o @out.tflite --data @set --html @out.txt",
    "view @m.tflite -o @out.txt",
    "migrate @e.npz --seed 3",
    *(
        f"serve @socket {words}"
        for words in ("--applications 0", "--rate nan", "--rate=-1", "--memory 0", "--models 0")
    ),
    *(f"serve @socket {words}" for words in ("--max-threads 0", "--descriptors 0", "--timeout 0", "--mode 7777")),
    "migrate @m.tflite --html @out.txt",
    "trace parse @t.json --json --print-detail",
]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from PIL import Image

    from nnapi.testing.corpus import write
    from tests.cli.test_check import relu

    folder = tmp_path_factory.mktemp("inputs")
    for name in ("m.tflite", "m.model", "m.onnx"):
        (folder / name).write_bytes(DIGITS.read_bytes())
    for name in ("f.tflite", "f.onnx"):
        (folder / name).write_bytes(DIGITS.with_name("digits_float.tflite").read_bytes())
    np.save(folder / "x.npy", np.zeros((1, 8, 8, 1), np.int8))
    Image.new("L", (8, 8)).save(folder / "x.png")
    (folder / "l.txt").write_text("".join(f"{letter}\n" for letter in "abcdefghij"))
    (folder / "m.csv").write_text("operation,type,supported\nCONV_2D,TENSOR_FLOAT32,yes\n")
    write(folder / "e.npz", [relu("relu", 0, 2)])
    for letter in "ab":
        (folder / "set" / letter).mkdir(parents=True)
        Image.new("L", (8, 8)).save(folder / "set" / letter / "x.png")
    for line in (f"{BENCH} --only-latency -o @b.json", f"trace @m.tflite -o @t.json {ON} --runs 2"):
        assert invoke(line, folder).exit_code == 0
    (folder / "list").write_text("")
    for name, reason in (("c", "no"), ("d", "never")):
        judged = Judged(
            Result("", "relu", ("RELU",), "plain", Status.FAILED, reason), Verdict.REGRESSION, Status.PASSED
        )
        write_json(folder / f"{name}.json", "check", {"device": None, "results": describe_judged([judged])})
    return folder


def invoke(line: str, folder: Path) -> Any:
    return CliRunner().invoke(app, [word.replace("@", f"{folder}/") for word in shlex.split(line)])


@pytest.fixture
def folder(prepared: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(prepared)
    monkeypatch.setenv("NNAPI_FOREIGN", "")  # which phone connect sets
    remove_outputs(prepared)
    return prepared


def remove_outputs(folder: Path) -> None:
    for path in folder.glob("out*"):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


class Ended(Exception):
    """A watched function was called."""


def test_every_option_is_tested() -> None:
    assert {(name, name_option(option)) for name, option in list_options()} == set(EVERY)


@pytest.mark.parametrize("effect", EVERY.values(), ids=map(" ".join, EVERY))
def test_an_option_has_an_effect(effect: Effect, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if effect.line.startswith("lib") and installation.library_problem():
        pytest.skip("the library is not built")
    monkeypatch.setattr("nnapi.cli.strace.installation.library_problem", str)
    monkeypatch.setattr(QUANTIZE_FILE, lambda *arguments: DIGITS.read_bytes())
    if effect.line.startswith("bench diff"):
        pytest.importorskip("scipy")
    if effect.line.startswith("migrate") or effect.option == "--against none":  # of engines that are installed
        pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")
    without = observe(effect.line, effect.watched, folder)
    found = observe(f"{effect.line} {effect.option}", effect.watched, folder)
    assert found != without
    assert not effect.watched or found.calls or without.calls, (without, found)


@pytest.mark.parametrize("line", REFUSED)
def test_an_option_without_effect_is_refused(line: str, folder: Path) -> None:
    before = sorted(folder.rglob("*"))
    result = invoke(line, folder)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1), result.output
    assert re.search(r"--[a-z]", result.stderr) or "profile" in result.stderr
    assert sorted(folder.rglob("*")) == before


class Observation(NamedTuple):
    calls: list[Any]
    code: int
    output: str
    files: list[str]
    variable: str


def observe(line: str, watched: str, folder: Path) -> Observation:
    """Return all that a command did: the arguments of watched functions, the output without times, and new files."""
    before, calls = set(folder.rglob("*")), []

    def watch(name: str, function: Callable[..., Any], kind: str) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            calls.append((name, render(arguments), render(named)))
            if kind == "!":
                return function(*arguments, **named)
            if kind == "~":
                return None
            raise Ended

        return call

    with nnapi.settings(tuning=False), pytest.MonkeyPatch.context() as patch:
        for name in watched.split():
            target, _, attribute = name.lstrip("!~").rpartition(".")
            module = import_module(target)
            patch.setattr(module, attribute, watch(attribute, getattr(module, attribute), name[0]))
        result = invoke(line, folder)
    new = sorted(str(path.relative_to(folder)) for path in set(folder.rglob("*")) - before)
    remove_outputs(folder)
    return Observation(calls, result.exit_code, without_times(result.output), new, os.environ["NNAPI_FOREIGN"])


def without_times(text: str) -> str:
    return re.sub(r"\d+(\.\d+)?(e-?\d+)?( ?(ms|µs|s|MB|KB))?\b", "#", text)


def render(value: Any) -> Any:
    """Return a value without addresses of objects."""
    if isinstance(value, np.ndarray):
        return value.tobytes()
    if isinstance(value, dict):
        return {str(key): render(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [render(each) for each in value]
    text = repr(value)
    return text if " at 0x" not in text else type(value).__name__
