"""TensorFlow Lite's NNAPI delegate as a plug-in, from a source tree: ``build.py TREE OUT`` makes libnnapi_delegate.so.

Only what the delegate needs is compiled: it is given an interpreter, and needs none of its own.
"""

from __future__ import annotations

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from os import cpu_count
from pathlib import Path

HERE = Path(__file__).parent
SOURCES = [
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
EIGEN = Path("/usr/include/eigen3")
SCHEMA = Path("tflite/converter/schema/schema")
ATTRIBUTE = re.compile(r"^(\s*\w+ = \d+)\s*\(deprecated\)", re.MULTILINE)
"""What is said of a member of an enumeration, which older compilers of schemas do not understand."""
OPTIONS = ("-std=c++17", "-O1", "-fPIC", "-w", "-fvisibility=hidden")


def build(tree: Path, out: Path, compiler: str = "g++") -> Path:
    """Compile the plug-in from a LiteRT source tree into a folder; what is there already is kept."""
    out.mkdir(parents=True, exist_ok=True)
    made = out / "libnnapi_delegate.so"
    if made.exists():
        return made
    sources = [tree / "tflite" / f"{name}.cc" for name in SOURCES] + [HERE / "plugin.cc"]
    missing = [str(source) for source in sources if not source.is_file()]
    if missing:
        raise FileNotFoundError(f"{tree} is no source tree of LiteRT: it lacks {', '.join(missing)}")
    write_schema(tree, out / "include")
    include = [f"-I{folder}" for folder in (out / "include", tree, EIGEN)]

    def compile(source: Path) -> Path:
        relative = source.relative_to(tree / "tflite") if source.is_relative_to(tree) else Path(source.name)
        target = out / ("_".join(relative.with_suffix(".o").parts))
        if not target.exists():
            subprocess.run([compiler, *OPTIONS, *include, "-c", str(source), "-o", str(target)], check=True)
        return target

    with ThreadPoolExecutor(cpu_count()) as pool:
        objects = list(pool.map(compile, sources))
    libraries = ("-lfarmhash", "-ldl", "-lpthread")
    # -z defs: a symbol that nobody has shows now, not when the delegate is loaded
    link = ["-shared", "-Wl,-z,defs", "-Wl,--gc-sections", *map(str, objects), *libraries, "-o", str(made)]
    subprocess.run([compiler, *link], check=True)
    return made


def write_schema(tree: Path, include: Path) -> None:
    """The schema's header by the system's own flatbuffers: the one in the tree wants a certain other version."""
    text = (tree / SCHEMA).with_suffix(".fbs").read_text()
    plain = include / SCHEMA.with_suffix(".fbs")
    plain.parent.mkdir(parents=True, exist_ok=True)
    plain.write_text(ATTRIBUTE.sub(r"\1", text))
    options = ("--cpp", "--gen-object-api", "--gen-mutable")
    subprocess.run(["flatc", *options, "-o", str(plain.parent), str(plain)], check=True)


if __name__ == "__main__":
    print(build(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()))
