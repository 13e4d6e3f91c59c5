"""Where the tests of a module are: found by its name, or said here.

The tests of ``src/nnapi/PACKAGE/…/MODULE.py`` are ``tests/PACKAGE/…/test_MODULE.py``, with the engine's or importer's
name in front where several have such a module (``test_xnnpack_cache.py``); those of an operation have its name. A file
that tests several modules together lies in their package's folder and imports them by name. The table below lists
modules that only others reach.
"""

import re
from functools import cache
from pathlib import Path

from nnapi.operation_codes import MODULES as OPERATIONS
from tools import size

SRC, TESTS = size.REPOSITORY / "src" / "nnapi", size.REPOSITORY / "tests"
MODULES = sorted(path.relative_to(SRC) for path in SRC.rglob("*.py") if not path.stem.startswith("__"))
WITHOUT_A_PACKAGE = {"benchmarks", "clients", "clients/tflite_delegate", "docs", "examples", "tools"}
"""Folders of tests of what is not in src/nnapi."""

TESTED_BY = {
    "formats/tflite/tables.py": "formats/tflite/test_writer.py",
    "testing/suite/tables.py": "cli/test_check_lists.py",
    "closeable.py": "runtime/test_closing.py",
    "drivers/openvino/control_flow.py": "drivers/test_whole_control_flow.py",
    "drivers/openvino/timings.py": "contract/test_timings.py",
    "drivers/xnnpack/timings.py": "contract/test_timings.py",
    "host/adb.py": "cli/test_phone.py",
    "contract/ahead_of_time.py": "cli/test_ahead_of_time.py",
    "contract/substitutes.py": "drivers/ethos_u/test_ethos_u_driver.py",
    "contract/futures.py": "runtime/executors/test_deadline.py",
    "importers/symbolic_results.py": "importers/onnx/test_symbolic_import.py",
    "model/dynamic_model.py": "importers/onnx/test_dynamic_import.py",
    "capi/calls.py": "capi/test_functions.py",
    "capi/diagnostics.py": "clients/test_clients.py",
    "capi/call_text.py": "capi/test_strace.py",
    "capi/support_library.py": "clients/test_clients.py",
    "cli/check_page.py": "cli/test_check_diff.py",
    "cli/array_inputs.py": "cli/test_inputs.py",
    "cli/lib.py": "capi/test_installation.py",
    "delegate": "delegate/test_delegate.py",
    "drivers/delegate": "drivers/delegate/test_delegates.py",
    "drivers/foreign": "drivers/foreign/test_foreign.py",
    "drivers/isolated": "drivers/isolated",
    "drivers/openvino/rules": "drivers/openvino/test_openvino_rules.py",
    "drivers/base.py": "contract/test_driver.py",
    "drivers/reference/timings.py": "contract/test_timings.py",
    "drivers/litert/driver.py": "drivers/xnnpack/test_xnnpack_cache.py",
    "drivers/xnnpack/prepared.py": "drivers/litert/test_interpreter.py",
    "drivers/litert/rules": "drivers/xnnpack/test_xnnpack_rules.py",
    "lowering/tflite": "lowering/tflite/test_canonical_rules.py",
    "drivers/litert/outliers.py": "drivers/xnnpack/passes/signed_weights/test_channel_splitting.py",
    "importers/onnx": "importers/onnx",
    "exporters/dynamic_dimensions.py": "exporters/test_onnx_export.py",
    "exporters/file_notes.py": "cli/test_exported_notes.py",
    "exporters/onnx": "exporters/test_onnx_export.py",
    "exporters/tflite": "exporters/test_export.py",
    "formats/tflite/layout.py": "formats/tflite/test_writer.py",
    "formats/tflite/names.py": "exporters/test_export.py",
    "importers/tflite/node.py": "importers/tflite/test_tflite_refusals.py",
    "importers/tflite/block_weights.py": "importers/tflite/test_tflite_tensors.py",
    "importers/tflite/rules": "importers/tflite",
    "lowering/decompositions": "lowering/test_decompose.py",
    "model/add_operation.py": "model/test_model_rules.py",
    "litert": "litert",
    "onnx": "onnx",
    "torch": "torch",
    "ops/cell_proposals.py": "model/test_proposal.py",
    "ops/sequence_cells.py": "ops/test_sequences.py",
    "ops/window_proposals.py": "model/test_proposal.py",
    "ops/volume_proposals.py": "model/test_proposal.py",
    "model/facts.py": "ops/test_new_operation.py",
    "model/permissions.py": "model/test_pickling.py",
    "model/result_types.py": "model/test_matching.py",
    "model/validation.py": "model/test_graph_rules.py",
    "report/machine.py": "report/test_html.py",
    "runtime/execution.py": "runtime/test_execution_rules.py",
    "runtime/executors/workers.py": "runtime/test_event.py",
    "testing/random/perturbation.py": "testing/random/test_deviation.py",
    "testing/random/operation_sets.py": "testing/random/test_deviation.py",
    "testing/random/failure_description.py": "cli/test_check_random.py",
    "testing/record.py": "capi/test_record.py",
    "testing/runtime_classes.py": "capi/test_client.py",
    "trace/threads.py": "trace/test_parse.py",
}
"""Modules, or folders of them, and the file or folder whose tests reach them through others."""


@cache
def sources(folder: Path) -> dict[Path, str]:
    """The tests in the folder of a room, engine or importer, and those beside the rooms for modules beside them."""
    found = TESTS.glob("*.py") if folder == TESTS else folder.rglob("*.py")
    return {path: path.read_text() for path in sorted(found)}


def find_tests(module: Path) -> list[Path]:
    """The files or folders with the tests of a module of src/nnapi: found by its name, else as the table says."""
    if named := named_after(module):
        return [path for path in named if path.stem.startswith("test_")] or named
    return [TESTS / TESTED_BY[str(place)] for place in (module, *module.parents) if str(place) in TESTED_BY][:1]


def import_of(module: Path) -> re.Pattern[str]:
    package = ".".join(("nnapi", *module.parent.parts))
    return re.compile(rf"\b{package}\.{module.stem}\b|from {package} import ([^(\n]*|\([^)]*)\b{module.stem}\b")


def named_after(module: Path) -> list[Path]:
    """The files that have the name of the module, or of an operation in it, in their own or in what they import."""
    imported = import_of(module)
    declared = OPERATIONS.get(module.stem, ()) if module.parent == Path("ops") else ()
    names = "|".join((module.stem, *map(str.lower, declared)))
    folders = (TESTS.joinpath(*module.parent.parts[:depth]) for depth in (2, 1, 0))
    return [
        path
        for path, text in sources(next(folder for folder in folders if folder.is_dir())).items()
        if re.fullmatch(rf"test_(\w+_)?({names})", path.stem) or (module.stem in text and imported.search(text))
    ]


def test_the_tests_of_every_module_are_found() -> None:
    untested = [str(module) for module in MODULES if not find_tests(module)]
    assert untested == [], "add a test_ file with the name of each, or say in TESTED_BY what tests it"


def test_the_table_is_true() -> None:
    for module, test in TESTED_BY.items():
        assert (SRC / module).exists(), module
        assert (TESTS / test).exists(), test
    own = [module for module in TESTED_BY if module.endswith(".py") and named_after(Path(module))]
    assert own == [], "these have tests of their own: take them out of the table"


def test_folders_of_tests_are_rooms() -> None:
    folders = {path.parent.relative_to(TESTS) for path in TESTS.rglob("test_*.py")}
    assert {str(f) for f in folders if not (SRC / f).is_dir()} == WITHOUT_A_PACKAGE
