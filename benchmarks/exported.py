"""Export the public examples and networks, run the files, and write docs/export.md.

    python -m benchmarks.exported [--models FOLDER] [--step N] [--wrong] > docs/export.md

Files run in child processes, because LiteRT aborts the process on inputs that it does not expect. The exit code is 1 if
the results of a file differ from the model's.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from nnapi.testing.corpus import Entry, open_published
from tests.exporters.exported_cases import WAYS, Outcome, outcome, run_network

HEAD = """# Models as files

<!-- Written by `python -m benchmarks.exported --step 8 --models FOLDER`. -->

`nnapi export MODEL -o out.tflite` and `nnapi.export(model, "out.onnx")` write a loaded, built or recorded model as a
file for other programs. The file computes the same function as the model. Each operation becomes one or more operators
of the format. If the format cannot express some operations, nnapi writes no file. One error then lists all these
operations with the reasons.

- `nnapi export` keeps the **metadata** of the file: labels, ranges of pixels, descriptions and the other notes of a
  .tflite file, and the properties of an .onnx file. From one format to the other, it converts the task, labels,
  normalization, score threshold, sample rate and description. It does not replace the file that it reads without
  `--force`.
- The exporter keeps the **names** of inputs, outputs, tensors and subgraphs, and makes them unique. Dynamic
  dimensions of the model are dynamic in the file.
- **.onnx** (needs `pip install 'nnapi[onnx]'`) uses opset 20, or 21 if the model has 16-bit quantized values. Quantized
  operations use the QDQ format: QuantizeLinear and DequantizeLinear enclose each quantized value. Filters keep their
  scale per channel. Biases are int32, and their scale is the product of the scales of input and filter. The file
  transposes images to NCHW at each input, and back to NHWC at each output. IF becomes If, and WHILE becomes Loop. If
  the constants exceed 2 GiB, the exporter stores them in FILE.data beside the file. Every file passes the checker of
  the `onnx` package. ONNX rounds halves to even, and puts the first of equal elements first in TopK; additional nodes
  keep NNAPI's results there.
- On processors without VNNI instructions, ONNX Runtime's optimizations changed results of exported **quantized .onnx**
  files by up to 83 of 256 quantization steps. The entry `session.x64quantprecision` of ONNX Runtime's session options,
  with the value 1, made the results of the one model tried exact.
- LiteRT's XNNPACK delegate (2.3.0) returns NaN for **RSQRT** of 0. LiteRT's own kernel and nnapi's devices return
  infinity. `nnapi check --random --against litert` reports this as a failure.
- **.tflite**: IF and WHILE refer to subgraphs. The file stores float16 values as float16, and TFLite computes them in
  float32. It rounds them to float16 before operations whose results jump, such as comparisons. The states of recurrent
  cells become TFLite variables. Each run first sets these variables to the states that the model has as inputs or
  constants, so no state remains from the previous run. If the model permits quantized weights in operations on floats,
  the file has TFLite's dynamic-range operators. RMS_NORM and GROUP_NORM of float32, and masked ATTENTION of rank 4,
  become a STABLEHLO_COMPOSITE, whose subgraph is the decomposition.
- Tensors of **rank 5 and 6** and convolutions and pools of volumes are written in both formats. LiteRT has no pools of
  volumes and no groups there, so these become operators on images.
- The results of NON_MAX_SUPPRESSION, NONZERO, UNIQUE and RANGE have **sizes that depend on the data**: dynamic
  dimensions in the file. A .tflite file has no operator for NON_MAX_SUPPRESSION, UNIQUE, ROI_ALIGN_V2, LEFT_SHIFT,
  BITWISE_AND and BITWISE_OR; opset 20 has none for BITCAST.
- A model that several IF or WHILE refer to is one subgraph of a .tflite file for each shape of its inputs. In .onnx,
  each reference is a copy: at most 100,000 operations more, and 20 levels of models within models. These limits also
  hold in a .tflite file if a dynamic dimension could be taken for a static one.
- If a format lacks a recurrent operation on floats, the exporter decomposes it into products and sums. More than
  256 time steps become a WHILE (a Loop in ONNX).
- `NNAPI_RECORD` records the models that an application builds. `nnapi export RECORDING.npz -o FOLDER [--format onnx]`
  writes these models, and lists the models that cannot be written.
"""


def entries_of(step: int) -> list[Entry]:
    return [entry for entry in open_published().entries if not entry.expect_failure][::step]


def work(way: str, first: int, step: int, models: Path | None) -> None:
    """Export and run examples, or the networks of a folder, from number ``first`` on; print a line of JSON for each."""
    with tempfile.TemporaryDirectory(prefix="exported-") as folder:
        if models is not None:
            for number, path in enumerate(sorted(models.glob("*.tflite"))[first:], first):
                print(json.dumps({"number": number, "found": run_network(path, way, Path(folder))}), flush=True)
            return
        entries = entries_of(step)[first:]
        numbers = {(entry.file, entry.name): number for number, entry in enumerate(entries, first)}
        for example in open_published().examples(lambda entry: (entry.file, entry.name) in numbers):
            found = outcome(example, way, Path(folder))
            print(json.dumps({"number": numbers[example.file, example.name], "found": found}), flush=True)


def find_outcomes(way: str, count: int, step: int, models: Path | None) -> Iterator[Outcome]:
    """Yield the outcomes of :func:`work`. If its process dies, another one continues after that example."""
    at = 0
    while at < count:
        command = [sys.executable, "-m", "benchmarks.exported", "--work", way, "--first", str(at), "--step", str(step)]
        command += ["--models", str(models)] if models is not None else []
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                at = json.loads(line)["number"] + 1
                yield Outcome(*json.loads(line)["found"])
        if at < count:
            at += 1
            yield Outcome("wrong", f"the process died with {process.returncode}")


def tabulate_examples(step: int, show: bool) -> tuple[list[str], int]:
    """Return the lines with the table of operations, and the number of wrong examples."""
    entries = entries_of(step)
    found: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    reasons: dict[str, Counter[str]] = defaultdict(Counter)
    totals: dict[str, Counter[str]] = defaultdict(Counter)
    for way in WAYS:
        for entry, each in zip(entries, find_outcomes(way, len(entries), step, None), strict=True):
            totals[way][each.kind] += 1
            if show and each.kind not in ("passed", "frozen"):
                print(way, entry.name, *each, sep=" | ", file=sys.stderr)
            for operation in entry.ops if len(entry.ops) == 1 else [op for op in entry.ops if op != "ADD"]:
                found[operation][way][each.kind] += 1
                if each.kind == "refused":
                    reasons[operation][_pick_reason(each.reason, operation)] += 1
    share = f", one in {step} of all" if step > 1 else ""
    rows = [
        _wrap(
            f"A public conformance example is a small model with inputs and expected outputs. The table counts the "
            f"outcomes of {len(entries):,} examples{share}. LiteRT or ONNX Runtime runs the exported "
            "file, or nnapi imports the file again and runs it on `nnapi-reference`. An example is *frozen* if its "
            "export is refused, but an export with all inputs except the first as constants passes. In networks, "
            "weights are such constants."
        ),
        "",
        "| file run by | passed | frozen | refused | wrong |",
        "|---|---|---|---|---|",
    ]
    rows += [f"| {way} | " + " | ".join(str(totals[way][kind]) for kind in KINDS) + " |" for way in WAYS]
    rows += [
        "",
        _wrap(
            "The next table has a row for each operation. 19 of 21 means: of 21 examples with the operation, 19 are "
            "passed or frozen. A reason may begin with the name of another operation, which the example also contains."
        ),
        "",
    ]
    rows += [f"| operation | {' | '.join(WAYS)} | most frequent reason of refusal |", "|---" * (len(WAYS) + 2) + "|"]
    for operation, ways in sorted(found.items()):
        counts = " | ".join(f"{ways[way]['passed'] + ways[way]['frozen']} of {ways[way].total()}" for way in WAYS)
        why = reasons[operation].most_common(1)
        rows.append(f"| {operation} | {counts} | {_cell(why[0][0]) if why else ''} |")
    return rows, sum(each["wrong"] for each in totals.values())


KINDS = ("passed", "frozen", "refused", "wrong")


def _pick_reason(reasons: str, operation: str) -> str:
    """Return the operation's own reason without names, else the first refused operation and its reason."""
    listed = re.split(r"; (?=[A-Z0-9_]+: )", reasons)
    own = next((each for each in listed if each.startswith(f"{operation}: ")), listed[0])
    own = own.removeprefix(f"{operation}: ").partition(", and its decomposition is refused: ")[0]
    return re.sub(r"^\S+ (has dimensions that are not known before the run): .*", r"an input \1", own)


def _wrap(text: str) -> str:
    return textwrap.fill(text, 120, break_on_hyphens=False)


NETWORKS = [
    "",
    _wrap(
        "For the next table, LiteRT and ONNX Runtime ran exported networks on random inputs. A cell lists, for each "
        "output, the largest difference from the output of `nnapi-reference`. Differences of floats are relative to "
        "the largest value. Differences of quantized values are in quantization steps, with the share of equal values. "
        "*Original file* is the difference between LiteRT's outputs for the exported and for the original file."
    ),
    "",
    "Large differences have two causes:",
    "",
    "- In quantized networks, rounding differences add up, although each operation agrees within one quantization",
    "  step. In `tf2_mobilenet_v2_1.0_224_ptq`, even LiteRT's XNNPACK and built-in kernels differ by up to 9 steps.",
    "- `movenet_lightning_ptq` computes the positions of the highest scores (ARGMAX). On random inputs, a rounding",
    "  difference selects another position.",
    "",
    "| model | LiteRT | ONNX Runtime |",
    "|---|---|---|",
]


def tabulate_models(models: Path) -> list[str]:
    """Return a row for each network, with the outcome in each engine."""
    paths = sorted(models.glob("*.tflite"))
    rows = list(NETWORKS)
    columns = [list(find_outcomes(way, len(paths), 1, models)) for way in ("LiteRT", "ONNX Runtime")]
    for path, *found in zip(paths, *columns, strict=True):
        rows.append(f"| {path.stem} | " + " | ".join(_describe(each) for each in found) + " |")
    return rows


def _describe(found: Outcome) -> str:
    return _cell(found.reason if found.kind == "passed" else f"{found.kind}: {found.reason}")


def _cell(text: str) -> str:
    """Return a text as a table cell."""
    return " ".join(text.replace("|", "/").split())


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--models", type=Path, help="a folder of .tflite files")
    parser.add_argument("--step", type=int, default=1, metavar="N", help="try every Nth example")
    parser.add_argument("--wrong", action="store_true", help="print refused and wrong examples to stderr at once")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    parser.add_argument("--first", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.work:
        work(options.work, options.first, options.step, options.models)
        return 0
    rows, wrong = tabulate_examples(options.step, options.wrong)
    print(HEAD)
    print("\n".join(rows))
    if options.models is not None:
        print("\n".join(tabulate_models(options.models)))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
