"""`import nnapi` loads only modules that every use needs."""

import subprocess
import sys
from types import ModuleType

import pytest

import nnapi

LATER = ["numpy", "ai_edge_litert", "openvino", "tflite", "flatbuffers", "typer", "click", "rich", "PIL", "scipy"]


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    code = "import nnapi, sys; print(*sys.modules)"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_sessions_load_what_they_need() -> None:
    """NumPy's random module alone loads OpenSSL; exporters and ONNX's library are for other programs."""
    code = "import sys, numpy; known = set(sys.modules); import nnapi.onnx; print(*set(sys.modules) - known)"
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "nnapi.onnx.session" in made
    assert not {"numpy.random", "numpy.typing", "hashlib", "pathlib", "onnx", "nnapi.exporters"} & set(made)


@pytest.mark.parametrize("module", LATER)
def test_loaded_when_needed(loaded: set[str], module: str) -> None:
    assert "nnapi" in loaded
    assert module not in loaded


def test_nothing_loads_concrete_drivers(loaded: set[str]) -> None:
    assert not [module for module in loaded if module.startswith("nnapi.drivers.reference")]


def test_every_public_name_is_listed() -> None:
    """Type checkers take what is not listed for private. Most names are there once they were asked for."""
    assert all(getattr(nnapi, name) is not None for name in nnapi.__all__)
    modules = {name for name in vars(nnapi) if isinstance(getattr(nnapi, name), ModuleType)}
    public = {name for name in vars(nnapi) if not name.startswith("_")} - modules
    assert nnapi.__all__ == sorted(public)


def test_names_that_do_not_exist_are_refused() -> None:
    with pytest.raises(AttributeError, match="compiler"):
        nnapi.compiler  # type: ignore[attr-defined]  # noqa: B018
    assert set(nnapi.__all__) <= set(dir(nnapi))


def test_completion_offers_no_modules_that_nnapi_imports() -> None:
    public = {name for name in dir(nnapi) if not name.startswith("_")} - set(nnapi.__all__)
    assert public == {"codes", "drivers", "errors", "exporters", "formats", "importers", "model", "runtime", "trace"}


def test_rooms_need_no_import_of_their_own() -> None:
    code = "import nnapi; print(nnapi.trace.section, nnapi.runtime, nnapi.model, nnapi.drivers)"
    subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
