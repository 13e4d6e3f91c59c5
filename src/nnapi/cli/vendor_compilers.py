"""The vendors' compilers for NPUs in LiteRT's wheel: which share of a .tflite file each can compile."""

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

LITERT = "ai_edge_litert"
SECONDS = 300
"""How long a compiler may take."""
TAKEN = re.compile(r"selected (\d+) ops, from a total of (\d+) ops\. resulted in (\d+) partitions")
MISSING = re.compile(r"([\w.+-]+\.so[\w.]*)(?:: cannot open shared object file| not found)")


@dataclass(frozen=True)
class Vendor:
    """A vendor: ``folder`` is in LiteRT's wheel, ``package`` installs the vendor's libraries."""

    folder: str
    manufacturer: str
    processor: str
    package: str = ""


VENDORS = (
    Vendor("qualcomm", "Qualcomm", "SM8750", "ai-edge-litert-sdk-qualcomm"),
    Vendor("mediatek", "MediaTek", "mt6991", "ai-edge-litert-sdk-mediatek"),
    Vendor("google_tensor", "Google", "Tensor_G5", "ai-edge-litert-sdk-google-tensor"),
    Vendor("samsung", "Samsung", "E9965"),
    Vendor("intel_openvino", "IntelOpenVINO", "LNL", "ai-edge-litert-sdk-intel"),
)


@dataclass(frozen=True)
class Answer:
    """A compiler's answer: operators it accepts, all operators, partitions; or the problem and its solution."""

    name: str
    taken: int = 0
    total: int = 0
    partitions: int = 0
    problem: str = ""


def ask_compilers(file: Path, output: Path) -> Iterator[Answer]:
    """Yield the answer of each compiler in LiteRT's wheel; ``output`` is overwritten."""
    spec = find_spec(LITERT)
    if spec is None or spec.origin is None:
        return
    wheel = Path(spec.origin).parent
    for vendor in VENDORS:
        libraries = wheel / "vendors" / vendor.folder / "compiler"
        if libraries.is_dir():
            yield _ask(wheel / "tools" / "apply_plugin_main", libraries, vendor, file, output)


def _ask(tool: Path, libraries: Path, vendor: Vendor, file: Path, output: Path) -> Answer:
    name = f"{vendor.manufacturer} {vendor.processor}"
    command = [
        str(tool),
        "--cmd=partition",
        f"--model={file}",
        f"--o={output}",
        f"--libs={libraries}",
        f"--soc_manufacturer={vendor.manufacturer}",
        f"--soc_model={vendor.processor}",
    ]
    folders = [*_find_libraries(vendor), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
    environment = os.environ | {"LD_LIBRARY_PATH": os.pathsep.join(folders)}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=SECONDS, check=False, env=environment
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Answer(name, problem=f"the compiler did not run: {error}")
    return read_answer(name, vendor, done.stdout + done.stderr)


def read_answer(name: str, vendor: Vendor, log: str) -> Answer:
    """Return the compiler's answer, read from the log of LiteRT's tool."""
    if found := TAKEN.findall(log):
        taken, total, partitions = (sum(map(int, counts)) for counts in zip(*found, strict=True))
        return Answer(name, taken, total, partitions)
    if missing := MISSING.search(log):
        advice = f": pip install {vendor.package}" if vendor.package else ""
        return Answer(name, problem=f"the vendor's library {missing[1]} is missing{advice}")
    if symbol := re.search(r"undefined symbol: \w+", log):
        return Answer(name, problem=f"the compiler in LiteRT's wheel cannot be loaded: {symbol[0]}")
    errors = [line.rpartition("] ")[2] for line in log.splitlines() if "ERROR" in line]
    return Answer(
        name, problem=errors[-1].strip() if errors else "the compiler selected no operators and printed no reason"
    )


def _find_libraries(vendor: Vendor) -> list[str]:
    """Return the folders with shared libraries in the vendor's package, if it is installed."""
    spec = find_spec(vendor.package.replace("-", "_")) if vendor.package else None
    if spec is None or spec.origin is None:
        return []
    return sorted({str(each.parent) for each in Path(spec.origin).parent.rglob("*.so*")})
