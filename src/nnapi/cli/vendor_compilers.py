"""The vendors' compilers for NPUs in LiteRT's wheel: which operations of a model each can compile."""

import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from nnapi.cli.accelerators import NoAnswerError, count_accepted
from nnapi.exporters.tflite.numbered import PREFIX, NumberedConversion
from nnapi.formats.tflite.operators import OPERATORS
from nnapi.formats.tflite.reader import File
from nnapi.model.model import Model
from nnapi.report.engines import find_version
from nnapi.store.temporary import temporary_folder

LITERT = "ai_edge_litert"
SECONDS = 300
"""How long a compiler may take."""
COMPILED = "CUSTOM:DISPATCH_OP"
"""The operator that stands for a partition of the compiler."""
MISSING = re.compile(r"([\w.+-]+\.so[\w.]*)(?:: cannot open shared object file| not found)")
UNSUPPORTED = re.compile(r"op type (\d+) is not supported")
OPENVINO = re.compile(r"libopenvino\.so\.(\d\d)(\d)(\d)")


@dataclass(frozen=True)
class Vendor:
    """A vendor: ``folder`` is in LiteRT's wheel, ``package`` installs the vendor's libraries.

    ``modules`` have the libraries, if they are installed. Without the library ``needed``, the compiler is not asked.
    """

    folder: str
    manufacturer: str
    processor: str
    package: str = ""
    modules: tuple[str, ...] = ()
    needed: str = ""


VENDORS = (
    Vendor(
        "qualcomm",
        "Qualcomm",
        "SM8750",
        "ai-edge-litert-sdk-qualcomm",
        ("ai_edge_litert_sdk_qualcomm", "onnxruntime_qnn"),
        "libQnnLpai.so",
    ),
    Vendor("mediatek", "MediaTek", "mt6991", "ai-edge-litert-sdk-mediatek", ("ai_edge_litert_sdk_mediatek",)),
    Vendor(
        "google_tensor",
        "Google",
        "Tensor_G5",
        "ai-edge-litert-sdk-google-tensor",
        ("ai_edge_litert_sdk_google_tensor",),
    ),
    Vendor("samsung", "Samsung", "E9965"),
    Vendor(
        "intel_openvino", "IntelOpenVINO", "LNL", "ai-edge-litert-sdk-intel", ("ai_edge_litert_sdk_intel", "openvino")
    ),
)


def list_compilers() -> "list[VendorCompiler]":
    """Return the compilers in LiteRT's wheel."""
    spec = find_spec(LITERT)
    wheel = Path(spec.origin).parent if spec is not None and spec.origin is not None else None
    if wheel is None:
        return []
    return [VendorCompiler(vendor, wheel) for vendor in VENDORS if _folder(wheel, vendor).is_dir()]


class VendorCompiler:
    """A compiler in LiteRT's wheel. LiteRT's tool asks it about whole files."""

    is_slow = True

    def __init__(self, vendor: Vendor, wheel: Path) -> None:
        self.name = f"{vendor.manufacturer} {vendor.processor}"
        self.source = f"vendor's compiler, by LiteRT {find_version('ai-edge-litert')}"
        self._vendor, self._wheel = vendor, wheel

    def list_refusals(self, model: Model, parts: Sequence[Model]) -> list[str]:
        lowered = NumberedConversion(model).run()
        reasons = dict(zip((call.number for call in model.operations), lowered.verdicts, strict=True))
        refused = {number: verdict.reason for number, verdict in reasons.items() if not verdict.supported}
        if supported := lowered.list_supported():
            refused |= self._partition(lowered.write(supported))
        return [refused.get(call.number, "") for call in model.operations]

    def count_partitions(self, model: Model, refusals: Sequence[str]) -> int:
        return count_accepted(model, refusals)

    def write_files(self, model: Model, start: Path) -> list[Path]:
        lowered = NumberedConversion(model).run()
        path = start.with_name(f"{start.name}-{self._vendor.folder}.tflite")
        log = self._run("apply", lowered.write(lowered.list_supported()), path)
        if path.exists() and path.stat().st_size:
            return [path]
        path.unlink(missing_ok=True)
        raise NoAnswerError(f"no file is compiled: {find_problem(log, self._vendor)}")

    def _partition(self, content: bytes) -> dict[int, str]:
        """Return why operations are refused, by number."""
        with temporary_folder("compiler") as folder:
            log = self._run("partition", content, output := Path(folder) / "out.tflite")
            written = output.read_bytes() if output.exists() else b""
        if not written:
            raise NoAnswerError(find_problem(log, self._vendor))
        return list_left(written, log)

    def _run(self, work: str, content: bytes, output: Path) -> str:
        """Let the tool read a file, and write another; return what it prints."""
        vendor, folders = self._vendor, self._find_folders()
        if vendor.needed and not any((Path(folder) / vendor.needed).exists() for folder in folders):
            raise NoAnswerError(describe_missing(vendor.needed, vendor))
        with temporary_folder("compiler") as folder:
            (source := Path(folder) / "model.tflite").write_bytes(content)
            command = [
                str(self._wheel / "tools" / "apply_plugin_main"),
                f"--cmd={work}",
                f"--model={source}",
                f"--o={output}",
                f"--libs={_folder(self._wheel, vendor)}",
                f"--soc_manufacturer={vendor.manufacturer}",
                f"--soc_model={vendor.processor}",
            ]
            environment = os.environ | {"LD_LIBRARY_PATH": os.pathsep.join(folders)}
            try:
                done = subprocess.run(
                    command,
                    capture_output=True,
                    text=True,
                    errors="replace",
                    timeout=SECONDS,
                    check=False,
                    env=environment,
                )
            except (OSError, subprocess.TimeoutExpired) as error:
                raise NoAnswerError(f"the compiler did not run: {error}") from None
        return done.stdout + done.stderr

    def _find_folders(self) -> list[str]:
        """Return the folders that may have the vendor's libraries."""
        found = [find_spec(module) for module in self._vendor.modules]
        roots = [Path(spec.origin).parent for spec in found if spec is not None and spec.origin is not None]
        folders = sorted({str(each.parent) for root in roots for each in root.rglob("*.so*")})
        return [*folders, *filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep))]


def _folder(wheel: Path, vendor: Vendor) -> Path:
    return wheel / "vendors" / vendor.folder / "compiler"


def list_left(content: bytes, log: str) -> dict[int, str]:
    """Return the reasons for the operations that a compiler left in a file, by the names of their results."""
    graph, unsupported = File(memoryview(content)).subgraph(0), {int(code) for code in UNSUPPORTED.findall(log)}
    kinds = {OPERATORS[code].name for code in unsupported if code < len(OPERATORS)}
    found = dict[int, str]()
    for operator in graph.operators:
        for name in (graph.tensors[index].name for index in operator.outputs if operator.kind != COMPILED):
            kind = operator.kind.partition(":")[0]
            reason = f"the compiler does not support {kind}" if kind in kinds else "the compiler leaves it to the CPU"
            found[int(name.removeprefix(PREFIX))] = reason
    return found


def find_problem(log: str, vendor: Vendor) -> str:
    """Return why a compiler wrote no file, from the log of LiteRT's tool."""
    if missing := MISSING.search(log):
        return describe_missing(missing[1], vendor)
    if symbol := re.search(r"undefined symbol: \w+", log):
        return f"the compiler in LiteRT's wheel cannot be loaded: {symbol[0]}"
    errors = [line.rpartition("] ")[2] for line in log.splitlines() if "ERROR" in line]
    return errors[-1].strip() if errors else "the compiler selected no operators and printed no reason"


def describe_missing(library: str, vendor: Vendor) -> str:
    version = OPENVINO.fullmatch(library)
    package = f"openvino==20{'.'.join(version.groups())}" if version else vendor.package
    return f"the vendor's library {library} is missing{package and f': pip install {package}'}"
