"""The stub of the Builder is what the declarations say, and type checkers heed it."""

import subprocess
import sys
from pathlib import Path

import pytest

import nnapi
from nnapi.model import builder
from tools.builder_stub import make_stub

EXAMPLE = Path(__file__).parents[2] / "examples" / "typed"


def test_the_stub_is_current() -> None:
    stub = Path(builder.__file__).with_name("builder_operations.pyi").read_text()
    assert stub == make_stub(), "python -m tools.builder_stub > src/nnapi/model/builder_operations.pyi"


def test_every_method_is_declared() -> None:
    declared = make_stub()
    assert [name for name in dir(nnapi.Builder()) if f"    def {name}(" in declared]
    assert "def conv_2d(" in declared
    assert "def if_(" in declared


@pytest.mark.slow
def test_a_typo_is_found_and_nothing_else(tmp_path: Path) -> None:
    """One process checks the example and its copy with a typo, because reading the package takes most of the time."""
    program = tmp_path / "typo.py"
    program.write_text((EXAMPLE / "add_mul.py").read_text().replace("b.add(", "b.ad("))
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", "", str(EXAMPLE / "add_mul.py"), str(program)]
    *errors, summary = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
    assert "(checked 2 source files)" in summary
    assert errors
    for error in errors:
        assert program.name in error
        assert '"Builder" has no attribute "ad"' in error
