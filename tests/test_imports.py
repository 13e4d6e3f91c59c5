"""What `import nnapi` loads: nothing that only some of its uses need."""

import subprocess
import sys
from types import ModuleType

import pytest

import nnapi

LATER = ["ai_edge_litert", "openvino", "tflite", "flatbuffers", "typer", "click", "rich", "PIL", "scipy"]


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    code = "import nnapi, sys; print(*sys.modules)"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


@pytest.mark.parametrize("module", LATER)
def test_loaded_when_needed(loaded: set[str], module: str) -> None:
    assert "nnapi" in loaded
    assert module not in loaded


def test_nothing_loads_concrete_drivers(loaded: set[str]) -> None:
    assert not [module for module in loaded if module.startswith("nnapi.drivers.reference")]


def test_every_public_name_is_listed() -> None:
    """Type checkers take what is not listed for private."""
    modules = {name for name in vars(nnapi) if isinstance(getattr(nnapi, name), ModuleType)}
    public = {name for name in vars(nnapi) if not name.startswith("_")} - modules
    assert nnapi.__all__ == sorted(public)
