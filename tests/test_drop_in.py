"""Programs that import this library's modules instead of others."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nnapi import drop_in
from tests.tflite_writer import T, single

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


@pytest.mark.engine
def test_a_program_for_litert_runs_unchanged(tmp_path: Path) -> None:
    pytest.importorskip("ai_edge_litert.interpreter", reason="ai-edge-litert is not installed")
    (tmp_path / "program.py").write_text(PROGRAM.replace(", Tensor", ""))
    (tmp_path / "model.tflite").write_bytes(single("RELU", [T("FLOAT32", (2, 2))], T("FLOAT32", (2, 2))))
    command = [sys.executable, "-m", "nnapi.litert", "--explain", "program.py", "model.tflite"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=dict(os.environ), check=False)
    assert ran.stdout == "nnapi.litert.interpreter [[1.0, 1.0], [1.0, 1.0]]\n", ran.stderr
    assert "#0 RELU" in ran.stderr


@pytest.mark.engine
def test_tensorflow_that_is_installed_gets_our_interpreter_inside_too(tmp_path: Path) -> None:
    pytest.importorskip("ai_edge_litert.interpreter", reason="ai-edge-litert is not installed")
    lite = tmp_path / "tensorflow" / "lite"
    (lite / "python").mkdir(parents=True)
    (lite / "python" / "interpreter.py").write_text("class Interpreter: ...\nkept = 1\n")
    (lite / "experimental.py").write_text("")
    (lite / "__init__.py").write_text("from tensorflow.lite import experimental\n")
    (lite.parent / "__init__.py").write_text("from tensorflow import lite\n")
    (tmp_path / "program.py").write_text(
        "import tensorflow as tf\nfrom tensorflow.lite.python.interpreter import Interpreter, kept\n"
        "assert Interpreter is tf.lite.Interpreter\nprint(Interpreter.__mro__[1].__module__, kept)\n"
    )
    command = [sys.executable, "-m", "nnapi.litert", str(tmp_path / "program.py")]
    there = os.environ | {"PYTHONPATH": str(tmp_path)}
    ran = subprocess.run(command, capture_output=True, text=True, env=there, check=False)
    assert ran.stdout == "nnapi.litert.interpreter 1\n", ran.stderr


def test_a_module_that_is_not_installed_has_our_names_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "no_such", None)
    monkeypatch.delitem(sys.modules, "no_such")
    drop_in.replace_module("no_such.inner", {"answer": 42})
    from no_such.inner import answer  # type: ignore[import-not-found]

    assert answer == 42
    with pytest.raises(AttributeError, match="'no_such.inner' is replaced by nnapi, which has no 'question' for it"):
        sys.modules["no_such.inner"].question  # noqa: B018


def test_the_library_itself_gets_the_module_s_own() -> None:
    own = drop_in.DropIn("json", {"dumps": "ours"})
    names = {"__name__": "nnapi.drivers.some", "module": own}
    assert eval("module.dumps", names) is __import__("json").dumps
    assert own.dumps == "ours"
    assert own.loads is __import__("json").loads


def test_a_module_is_changed_after_its_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "changes_later.py").write_text("value = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))

    def change(module: object) -> None:
        module.value += 1  # type: ignore[attr-defined]

    sys.meta_path.insert(0, drop_in.AfterImport("changes_later", change))
    import changes_later  # type: ignore[import-not-found]

    assert changes_later.value == 2
    monkeypatch.delitem(sys.modules, "changes_later")


def test_a_program_sees_its_arguments(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", [])
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "program.py").write_text("import sys\nprint(__name__, sys.argv[1:])\n")
    drop_in.run_program(str(tmp_path / "program.py"), ["-x", "1"])
    assert capsys.readouterr().out == "__main__ ['-x', '1']\n"
    assert sys.path[0] == str(tmp_path)
