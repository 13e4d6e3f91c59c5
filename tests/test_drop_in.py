"""Programs that import this library's modules instead of others."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from nnapi.drop_in import DropInFinder, Package, start
from tests.tflite_writer import T, single
from tools import size

PROGRAM = """
import importlib.util
import sys
import numpy
import tflite_runtime.interpreter as runtime
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter, OpResolverType, Tensor
from tensorflow.lite.python.interpreter import Interpreter as Inner
assert Interpreter is runtime.Interpreter is tf.lite.Interpreter is Inner, "others"
for name in ("tflite_runtime", "tensorflow", "tensorflow.lite.python", "ai_edge_litert.interpreter"):
    assert importlib.util.find_spec(name).name == name
interpreter = Interpreter(model_path=sys.argv[1], num_threads=1)
interpreter.allocate_tensors()
interpreter.set_tensor(0, numpy.ones((2, 2), numpy.float32))
interpreter.invoke()
print(type(interpreter).__mro__[1].__module__, interpreter.get_tensor(1).tolist())
"""


@pytest.mark.slow
@pytest.mark.engine
def test_a_program_for_litert_runs_unchanged(tmp_path: Path) -> None:
    pytest.importorskip("ai_edge_litert.interpreter", reason="ai-edge-litert is not installed")
    (tmp_path / "program.py").write_text(PROGRAM.replace(", Tensor", ""))
    (tmp_path / "model.tflite").write_bytes(single("RELU", [T("FLOAT32", (2, 2))], T("FLOAT32", (2, 2))))
    command = [sys.executable, "-m", "nnapi.litert", "--explain", "program.py", "model.tflite"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=dict(os.environ), check=False)
    assert ran.stdout == "nnapi.litert.interpreter [[1.0, 1.0], [1.0, 1.0]]\n", ran.stderr
    assert "#0 RELU" in ran.stderr


@pytest.mark.slow
@pytest.mark.engine
def test_tensorflow_that_is_installed_gets_our_interpreter_inside_too(tmp_path: Path) -> None:
    pytest.importorskip("ai_edge_litert.interpreter", reason="ai-edge-litert is not installed")
    lite = tmp_path / "tensorflow" / "lite"
    (lite / "python").mkdir(parents=True)
    (lite / "python" / "interpreter.py").write_text("class Interpreter: ...\nkept = 1\n")
    (lite / "experimental.py").write_text("")
    names = "from tensorflow.lite import experimental\nfrom tensorflow.lite.python.interpreter import Interpreter\n"
    (lite / "__init__.py").write_text(names)
    (lite.parent / "__init__.py").write_text("from tensorflow import lite\n")
    (tmp_path / "program.py").write_text(
        "import tensorflow as tf\nfrom tensorflow.lite.python.interpreter import Interpreter, kept\n"
        "assert Interpreter is tf.lite.Interpreter\nprint(Interpreter.__mro__[1].__module__, kept)\n"
    )
    command = [sys.executable, "-m", "nnapi.litert", str(tmp_path / "program.py")]
    there = os.environ | {"PYTHONPATH": str(tmp_path)}
    ran = subprocess.run(command, capture_output=True, text=True, env=there, check=False)
    assert ran.stdout == "nnapi.litert.interpreter 1\n", ran.stderr


@pytest.fixture
def replaced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Package:
    """Replace the answers of three modules by 42, for the duration of a test."""
    package = Package(("its_module", "no_such.inner"), ("its_parent.absent",))
    for name in ("its_module", "its_parent"):
        (tmp_path / f"{name}.py").write_text("answer, question = 1, 2\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.setattr(sys, "modules", sys.modules.copy())
    return package


def test_a_module_that_is_not_installed_has_our_names_only(replaced: Package) -> None:
    sys.meta_path.insert(0, DropInFinder(replaced, lambda name: {"answer": name}))
    inner = import_module("no_such.inner")
    assert inner.answer == "no_such.inner"
    assert import_module("no_such").inner is inner
    assert import_module("its_parent").answer == 1, "installed, and not replaced itself"
    with pytest.raises(AttributeError, match="'no_such.inner' is replaced by nnapi, which has no 'question' for it"):
        inner.question  # noqa: B018


def test_our_names_come_before_the_module_s_own(replaced: Package) -> None:
    asked = []
    finder = DropInFinder(replaced, lambda name: asked.append(name) or {"answer": 42})
    sys.meta_path.insert(0, finder)
    module = import_module("its_module")
    names = {"__name__": "nnapi.drivers.some", "module": module}
    assert eval("module.answer", names) == 1, "what this library itself gets"
    assert not asked, "our names are found when a program uses them"
    assert (module.answer, module.question, module.answer) == (42, 2, 42)
    assert asked == ["its_module"]


def test_a_star_imports_our_names_and_the_module_s_own(replaced: Package) -> None:
    sys.meta_path.insert(0, DropInFinder(replaced, lambda name: {"answer": 42}))
    for module, expected in (("its_module", {"answer": 42, "question": 2}), ("no_such.inner", {"answer": 42})):
        names: dict[str, object] = {"__name__": "program"}
        exec(f"from {module} import *", names)
        assert {name: value for name, value in names.items() if not name.startswith("_")} == expected


def test_a_module_that_is_imported_already_is_replaced(replaced: Package) -> None:
    own = import_module("its_module")
    DropInFinder(replaced, lambda _: {"answer": 42}).replace_imported()
    assert (own.answer, sys.modules["its_module"].answer) == (1, 42)
    DropInFinder(replaced, lambda _: {"answer": 43}).replace_imported()
    assert (sys.modules["its_module"].answer, sys.modules["its_module"].question) == (43, 2)


def test_a_wrong_name_is_reported(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for value in ("", "tflite --explain"):
        monkeypatch.setenv("NNAPI_DROPIN", value)
        start()
        word = value.partition(" ")[0]
        assert capsys.readouterr().err == f"nnapi: NNAPI_DROPIN is {word!r}, must begin with litert or onnx\n"


@pytest.mark.slow
def test_a_program_sees_its_arguments(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("import os, sys\nprint(__name__, sys.argv, os.environ['NNAPI_DROPIN'])\n")
    command = [sys.executable, "-m", "nnapi.onnx", "program.py", "-x", "1"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ran.stdout == "__main__ ['program.py', '-x', '1'] onnx\n"


PARENT = """
import multiprocessing, subprocess, sys

def detect(results, path):
    from tflite_runtime.interpreter import Interpreter
    interpreter = Interpreter(model_path=path, num_threads=3)
    interpreter.allocate_tensors()
    interpreter.set_tensor(0, numpy.full((2, 2), 3, numpy.float32))
    interpreter.invoke()
    results.put((Interpreter.__mro__[1].__module__, interpreter.get_tensor(1).tolist()))

import numpy

if __name__ == "__main__":
    for way in sys.argv[2:]:
        context = multiprocessing.get_context(way)
        results = context.Queue()
        child = context.Process(target=detect, args=(results, sys.argv[1]))
        child.start()
        print(way, *results.get(timeout=100))
        child.join()
    code = "from ai_edge_litert.compiled_model import CompiledModel as Model; print(Model.__mro__[1].__module__)"
    print(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout, end="")
"""


@pytest.mark.slow
@pytest.mark.engine
@pytest.mark.parametrize("is_command", [True, False])
def test_child_processes_have_it_too(is_command: bool, tmp_path: Path) -> None:
    """As a detector of a video recorder runs: in processes that spawn and forkserver start."""
    pytest.importorskip("ai_edge_litert.compiled_model", reason="ai-edge-litert is not installed")
    shutil.copy(size.REPOSITORY / "native" / "nnapi.pth", tmp_path)
    (tmp_path / "sitecustomize.py").write_text(f"import site\nsite.addsitedir({str(tmp_path)!r})\n")
    (tmp_path / "program.py").write_text(PARENT)
    (tmp_path / "model.tflite").write_bytes(single("RELU", [T("FLOAT32", (2, 2))], T("FLOAT32", (2, 2))))
    command = [
        sys.executable,
        *["-m", "nnapi.litert"] * is_command,
        "program.py",
        "model.tflite",
        "spawn",
        "forkserver",
    ]
    there = os.environ | {"PYTHONPATH": str(tmp_path)} | ({} if is_command else {"NNAPI_DROPIN": "litert"})
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=there, check=False)
    result = "nnapi.litert.interpreter [[3.0, 3.0], [3.0, 3.0]]"
    assert ran.stdout == f"spawn {result}\nforkserver {result}\nnnapi.litert.compiled_model\n", ran.stderr


def test_processes_without_the_variable_import_nothing(tmp_path: Path) -> None:
    line = (size.REPOSITORY / "native" / "nnapi.pth").read_text()
    code = f"{line}\nimport sys\nprint('nnapi' in sys.modules)"
    there = {name: value for name, value in os.environ.items() if name != "NNAPI_DROPIN"}
    ran = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, env=there, check=True)
    assert ran.stdout == "False\n"
