"""Print the files under src/nnapi that describe an operation.

    python -m tools.operation_files [NAME…]

Without a NAME, print the section of CONTRIBUTING.md about these files. The files follow from the tables that nnapi
itself reads: the modules of operations, and the rules of lowerings, exporters and importers. Generated files are not
listed.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from nnapi.codes import OperationCode
from nnapi.formats.tflite.operators import BY_NAME
from nnapi.importers.onnx import operators as onnx_importer
from nnapi.importers.tflite import rules as tflite_importer
from nnapi.lowering.tflite.context import RENAMED
from nnapi.ops import HOMES
from tools.absent_engines import import_without_engines

SHOWN = ("ADD", "RESIZE_BILINEAR")
CONTENTS = {
    "operation_codes.py": "value, family and module",
    "ops": "declaration, shape function, kernel, and arguments for random tests",
    "lowering/decompositions": "decomposition into simpler operations",
    "lowering/tflite": "canonical rule that lowers the operation to TensorFlow Lite",
    "drivers/litert": "rule for LiteRT, if its kernels deviate from the canonical rule",
    "drivers/webgpu": "rule for the GPU, if it deviates from LiteRT",
    "drivers/openvino": "rule that lowers the operation to OpenVINO",
    "exporters/tflite": "rule for .tflite files, if they deviate from the canonical rule",
    "exporters/onnx": "rule that exports the operation to ONNX",
    "formats/tflite": "row of the TensorFlow Lite operator",
    "importers/tflite": "rule that imports the TensorFlow Lite operator",
    "importers/onnx": "rule that imports the ONNX operator",
}
"""The contents of the files that describe an operation, by the beginning of their paths."""
HEAD = """## The files of an operation

<!-- Written by `python -m tools.operation_files`. -->

In `lowering/`, `drivers/` and `exporters/`, each module of rules has the name of a family of operations (`FAMILIES` in
`operation_codes.py`). `python -m tools.operation_files NAME` lists the files of an operation. It omits tests, generated
files, and `importers/onnx/*_folding.py`, which compute constants of ONNX files without ONNX's evaluator. The table
shows two operations:
"""


def find_files(name: str) -> list[str]:
    """Return the files of an operation, relative to src/nnapi."""
    code = OperationCode[name]
    modules = [table[code].__module__ for table in import_tables() if code in table]
    files = ["operation_codes.py", f"ops/{HOMES.get(name, name.lower())}.py", *map(_path_of, modules)]
    kind = RENAMED.get(name, name)
    if kind in BY_NAME:
        files.append("formats/tflite/operators.txt")
    if kind in tflite_importer.RULES and BY_NAME[kind].rule != "one_to_one":  # that rule follows from the row alone
        files.append(_path_of(tflite_importer.RULES[kind].__module__))
    operator = _find_onnx_operator(name)
    if operator:
        files.append(_path_of(onnx_importer.RULES[operator].__module__))
    return list(dict.fromkeys(files))


@cache
def import_tables() -> Sequence[Mapping[int, Any]]:
    """Return the tables of rules by operation. The modules of some import their engine."""
    from nnapi.drivers.litert.context import RULES as LITERT
    from nnapi.drivers.openvino.context import RULES as OPENVINO
    from nnapi.drivers.webgpu import rules as webgpu
    from nnapi.exporters.onnx.convert import Conversion as OnnxConversion
    from nnapi.exporters.tflite.convert import Conversion as TfliteConversion
    from nnapi.lowering.decomposition_builder import RULES as DECOMPOSITIONS
    from nnapi.lowering.tflite.context import RULES as CANONICAL

    return DECOMPOSITIONS, CANONICAL, LITERT, webgpu.RULES, OPENVINO, TfliteConversion.rules, OnnxConversion.rules


def _path_of(module: str) -> str:
    return module.removeprefix("nnapi.").replace(".", "/") + ".py"


def _find_onnx_operator(name: str) -> str:
    """Return ONNX's operator that has the longest prefix of an operation's name, or "" if none has one."""
    words = [word.capitalize() for word in name.split("_")]
    beginnings = ["".join(words[:count]) for count in range(len(words), 0, -1)]
    return next((each for each in beginnings if each in onnx_importer.RULES), "")


def section() -> str:
    """Return the section of CONTRIBUTING.md about the files of an operation."""
    found = {name: find_files(name) for name in SHOWN}
    rows = [f"| content | {' | '.join(f'files of {name}' for name in SHOWN)} |", "|---" * (1 + len(SHOWN)) + "|"]
    for prefix, content in CONTENTS.items():
        cells = [", ".join(f"`{file}`" for file in files if file.startswith(prefix)) or "–" for files in found.values()]
        if any(cell != "–" for cell in cells):
            rows.append(f"| {content} | {' | '.join(cells)} |")
    return f"{HEAD}\n" + "\n".join(rows) + "\n"


def main(names: Sequence[str]) -> None:
    import_without_engines()
    for name in names:
        print(*find_files(name), sep="\n")
    if not names:
        print(section())


if __name__ == "__main__":
    main(sys.argv[1:])
