"""Rules can be listed where no engine is installed."""

import re
import subprocess
import sys

import pytest

from tools import size
from tools.absent_engines import ENGINES

WITHOUT_ENGINES = f"""
import sys
from importlib.machinery import PathFinder

class WithoutEngines(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in {ENGINES} else super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = WithoutEngines
from tools.operation_files import main
main(sys.argv[1:])
"""


@pytest.mark.slow
@pytest.mark.parametrize(("column", "name"), [(2, "ADD"), (3, "RESIZE_BILINEAR")])
def test_the_files_of_an_operation_are_those_of_contributing(column: int, name: str) -> None:
    command = [sys.executable, "-c", WITHOUT_ENGINES, name]
    done = subprocess.run(command, cwd=size.REPOSITORY, capture_output=True, text=True, check=True)
    page = (size.REPOSITORY / "CONTRIBUTING.md").read_text().partition("| content | files of ADD |")[2]
    rows = [line.split("|") for line in page.partition("\n\n")[0].splitlines()[2:]]
    assert done.stdout.split() == [file for row in rows for file in re.findall(r"`([^`]+)`", row[column])]
