"""TensorFlow Lite's NNAPI delegate as a plug-in, from a source tree: ``build.py TREE OUT`` makes libnnapi_delegate.so.

With ``--tests`` it makes libnnapi_operators.so as well, its operator tests, for which GoogleTest is needed. Only what
the delegate needs is compiled: it is given an interpreter, and needs none of its own.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from os import cpu_count
from pathlib import Path

HERE = Path(__file__).parent
DELEGATE = [
    "delegates/nnapi/nnapi_delegate",
    "delegates/nnapi/quant_lstm_sup",
    "nnapi/nnapi_implementation",
    "nnapi/nnapi_util",
    "delegates/utils",
    "delegates/serialization",
    "kernels/kernel_util",
    "kernels/internal/quantization_util",
    "kernels/internal/utils/sparsity_format_converter",
    "util",
    "array",
    "logger",
    "core/c/common",
    "minimal_logging",
    "minimal_logging_default",
]
TESTS = [
    "delegates/nnapi/nnapi_delegate_test",
    "converter/tools/versioning/op_version",
    "converter/tools/versioning/op_signature",
    "converter/core/api/flatbuffer_conversions",
    "converter/schema/schema_utils",
]
EIGEN = Path("/usr/include/eigen3")
SCHEMA = Path("tflite/converter/schema/schema")
ATTRIBUTE = re.compile(r"^(\s*\w+( = \d+)?)\s*\(deprecated\)(?=,)", re.MULTILINE)
"""Attributes of members of an enumeration or union, which older schema compilers do not understand."""
MUTABLE = "tflite/converter/schema/mutable/schema_generated.h"
"""The same with functions that change values, which ours has too."""
CHECKS = [f"absl/log/{name}.h" for name in ("absl_check", "absl_log", "check", "log")] + ["tsl/platform/logging.h"]
"""Headers of the tests that stand for ours: Abseil's are missing from older ones, TensorFlow's from the tree."""
OPTIONS = ("-std=c++17", "-fPIC", "-w", "-fvisibility=hidden", "-ffunction-sections", "-fdata-sections")
LIBRARIES = ("-lfarmhash", "-ldl", "-lpthread")
TESTING = ("-lgmock", "-lgtest", "-labsl_strings", "-labsl_str_format_internal", "-labsl_status")


def build(tree: Path, out: Path, compiler: str = "g++", *, tests: bool = False) -> list[Path]:
    """Compile the plug-in, and perhaps the tests, from a LiteRT source tree into a folder; what is there is kept."""
    sources = [tree / "tflite" / f"{name}.cc" for name in (*DELEGATE, *(TESTS if tests else ()))]
    missing = [str(source) for source in sources if not source.is_file()]
    if missing:
        raise FileNotFoundError(f"{tree} is no source tree of LiteRT: it lacks {', '.join(missing)}")
    write_headers(tree, out / "include")
    count = len(DELEGATE)
    sources = [plain(source, out) if "converter" in source.parts else source for source in sources]
    own = [HERE / "subgraph.cc", HERE / "plugin.cc", *([HERE / "operators.cc"] if tests else [])]
    # the largest first, of which the tests, which are not for speed, are the largest
    units: list[tuple[Path, Sequence[str]]] = [
        (s, ("-O0", f"-I{HERE / 'include'}")) for s in (*own[2:], *sources[count:])
    ]
    units += [(s, ("-O1",)) for s in (*sources[:count], *own[:2])]
    include = [f"-I{folder}" for folder in (out / "include", HERE, tree, EIGEN)]

    def compile(unit: tuple[Path, Sequence[str]]) -> Path:
        source, more = unit
        relative = source.relative_to(tree / "tflite") if source.is_relative_to(tree) else Path(source.name)
        target = out / ("_".join(relative.with_suffix(".o").parts))
        if not target.exists():
            subprocess.run([compiler, *OPTIONS, *more, *include, "-c", str(source), "-o", str(target)], check=True)
        return target

    with ThreadPoolExecutor(cpu_count()) as pool:
        objects = dict(zip((s for s, _ in units), pool.map(compile, units), strict=True))
    shared = [objects[s] for s in (*sources[:count], own[0])]
    made = [link(out / "libnnapi_delegate.so", [*shared, objects[own[1]]], LIBRARIES, compiler)]
    if tests:
        only = [objects[s] for s in (*own[2:], *sources[count:])]
        made.append(link(out / "libnnapi_operators.so", [*shared, *only], (*TESTING, *LIBRARIES), compiler))
    return made


def link(made: Path, objects: Sequence[Path], libraries: Sequence[str], compiler: str) -> Path:
    """A shared library of objects, unless it is there already."""
    if not made.exists():
        # -z defs: a symbol that nobody has shows now, not when the library is loaded
        words = ["-shared", "-Wl,-z,defs", "-Wl,--gc-sections", *map(str, objects), *libraries, "-o", str(made)]
        subprocess.run([compiler, *words], check=True)
    return made


def plain(source: Path, out: Path) -> Path:
    """A copy of a source without a function that older versions of flatbuffers lack in their vectors."""
    copy = out / source.name
    copy.write_text(source.read_text().replace("->empty()", "->size() == 0"))
    return copy


def write_headers(tree: Path, include: Path) -> None:
    """The schema's header by the system's own flatbuffers, as the one in the tree wants a certain other version; and
    those of checks."""
    text = (tree / SCHEMA).with_suffix(".fbs").read_text()
    plain = include / SCHEMA.with_suffix(".fbs")
    plain.parent.mkdir(parents=True, exist_ok=True)
    plain.write_text(ATTRIBUTE.sub(r"\1", text))
    options = ("--cpp", "--gen-object-api", "--gen-mutable")
    subprocess.run(["flatc", *options, "-o", str(plain.parent), str(plain)], check=True)
    made = include / SCHEMA.parent / f"{SCHEMA.name}_generated.h"
    for name, target in [(MUTABLE, made), *((name, HERE / "include" / "checks.h") for name in CHECKS)]:
        (include / name).parent.mkdir(parents=True, exist_ok=True)
        (include / name).write_text(f'#include "{target}"\n')


if __name__ == "__main__":
    tree, out = (Path(word).resolve() for word in sys.argv[1:3])
    for each in build(tree, out, tests=sys.argv[3:] == ["--tests"]):
        print(each)
