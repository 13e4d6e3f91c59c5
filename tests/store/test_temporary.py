"""Temporary folders: there for a block, gone after it however the process ends."""

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from nnapi.store import temporary
from nnapi.store.temporary import remove_temporary_folders, temporary_folder


@pytest.mark.parametrize(("use", "beginning"), [("", "nnapi-"), ("bench", "nnapi-bench-")])
def test_a_folder_is_there_for_a_block(use: str, beginning: str) -> None:
    with suppress(KeyboardInterrupt), temporary_folder(use) as folder:
        assert os.path.basename(folder).startswith(beginning)
        assert os.stat(folder).st_mode & 0o777 == 0o700
        (Path(folder) / "file").touch()
        raise KeyboardInterrupt
    assert not os.path.exists(folder)


def test_folders_of_open_blocks_are_removed_on_demand() -> None:
    with temporary_folder() as one, temporary_folder() as other:
        (Path(one) / "file").touch()
        remove_temporary_folders()
        assert not os.path.exists(one)
        assert not os.path.exists(other)


def test_a_folder_whose_removal_was_interrupted_is_removed_at_exit(tmp_path: Path) -> None:
    there = {**os.environ, "TMPDIR": str(tmp_path)}
    code = "from nnapi.store.temporary import temporary_folder\nblock = temporary_folder()\nprint(block.__enter__())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=there, check=True)
    assert done.stdout.startswith(str(tmp_path))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")  # of os.fork
def test_a_forked_child_leaves_its_parents_folders() -> None:
    with temporary_folder() as folder:
        child = os.fork()
        if not child:
            remove_temporary_folders()
            os._exit(int(bool(temporary._folders)))
        assert os.waitpid(child, 0)[1] == 0
        assert os.path.isdir(folder)
