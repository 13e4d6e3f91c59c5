"""The files that describe an operation, and the section of CONTRIBUTING.md about them."""

import pytest

from nnapi.codes import OperationCode
from tests.rows import each_row
from tools import size

pytest.importorskip("openvino", reason="OpenVINO is not installed, whose rules are among the files")
from tools.operation_files import CONTENTS, SHOWN, find_files, section

MOST = 9
"""Files that describe an operation at most, tests and its decomposition aside, which engines do without."""
MOST_SHOWN = dict(zip(SHOWN, (8, 9), strict=True))
"""Files that describe the operations in CONTRIBUTING.md at most, their decompositions included."""
SOURCE = size.REPOSITORY / "src" / "nnapi"
ELSEWHERE = (
    "testing/",  # what draws and judges operations
    "profiles/",  # data of devices
    "drivers/webgpu/proven_patterns.txt",
    "drivers/xnnpack/sampling.py",  # what is timed
    "capi/include/",
)


def test_contributing_lists_the_files_of_an_operation() -> None:
    assert section() in (size.REPOSITORY / "CONTRIBUTING.md").read_text(), "python -m tools.operation_files writes it"


@each_row("name", OperationCode.__members__)
def test_an_operation_is_described_in_few_files(name: str) -> None:
    files = find_files(name)
    assert len([file for file in files if not file.startswith("lowering/decompositions/")]) <= MOST
    assert len(files) <= MOST_SHOWN.get(name, len(files))
    assert [file for file in files if not (SOURCE / file).is_file()] == []
    assert all(file.startswith(tuple(CONTENTS)) for file in files)


def test_no_other_file_names_an_operation_that_no_other_is_made_of() -> None:
    """ADD is in a hundred decompositions; images are resized by nothing else."""
    name = SHOWN[1]
    naming = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*")
        if path.suffix in (".py", ".toml", ".txt", ".h") and name in path.read_text()
    }
    assert {each for each in naming if not each.startswith(ELSEWHERE)} <= set(find_files(name))
