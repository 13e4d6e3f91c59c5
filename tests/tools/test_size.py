"""Lines of files, functions and packages, and their difference to a commit."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tools import size

IDENTITY = {f"GIT_{role}_{kind}": "test@example.com" for role in ("AUTHOR", "COMMITTER") for kind in ("NAME", "EMAIL")}


def write(root: Path, name: str, lines: int) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n" * lines)


def test_long_files_and_functions(tmp_path: Path) -> None:
    write(tmp_path, "src/short.py", 400)
    (tmp_path / "src" / "long.py").write_text("def f():\n" + "    pass\n" * 60 + "\n" * 340)
    write(tmp_path, "src/data.txt", 1000)
    assert size.long_files(tmp_path) == [(401, "src/long.py")]
    assert size.long_functions(tmp_path) == [(61, "src/long.py:1 f")]


def test_packages() -> None:
    now = {"src/nnapi/ops/add.py": 3, "src/nnapi/drivers/some/rules/a.py": 4, "src/nnapi/locks.py": 1, "tests/x.py": 7}
    before = {"src/nnapi/ops/add.py": 3, "src/nnapi/ops/sub.py": 2, "src/nnapi/drivers/some/rules/a.py": 1}
    rows = [line.split(maxsplit=3) for line in size.tabulate(now, before)]
    assert rows == [
        ["1", "+1", "1", "src/nnapi"],
        ["4", "+3", "1", "src/nnapi/drivers/some"],
        ["3", "-2", "1", "src/nnapi/ops"],
        ["7", "+7", "1", "tests"],
        ["8", "+2", "3", "src, in all"],
        ["15", "+9", "4", "in all"],
    ]
    alone = [line.split(maxsplit=2) for line in size.tabulate(now, None)]
    assert alone == [[lines, files, title] for lines, _, files, title in rows]


@pytest.mark.skipif(shutil.which("git") is None, reason="no git")
def test_the_difference_is_to_where_the_branch_left_main(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    for name, value in (IDENTITY | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}).items():
        monkeypatch.setenv(name, value)

    def git(*words: str) -> None:
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True, capture_output=True)

    assert size.find_start(tmp_path) is None
    git("init", "--initial-branch", "main")
    write(tmp_path, "src/nnapi/a.py", 3)
    write(tmp_path, "tests/data.txt", 9)
    git("add", ".")
    git("commit", "-m", "main: begin")
    git("checkout", "-b", "other")
    write(tmp_path, "src/nnapi/a.py", 5)
    git("commit", "-am", "src: grow")
    write(tmp_path, "src/nnapi/b.py", 2)
    start = size.find_start(tmp_path)
    assert size.count_lines_at(start, tmp_path) == {"src/nnapi/a.py": 3}
    assert size.count_lines_at("HEAD", tmp_path) == {"src/nnapi/a.py": 5}
    assert size.count_lines(tmp_path) == {"src/nnapi/a.py": 5, "src/nnapi/b.py": 2}


@pytest.mark.skipif(shutil.which("git") is None, reason="no git")
def test_an_unknown_commit_is_named() -> None:
    with pytest.raises(SystemExit, match="^UNKNOWN: "):
        size.main(["UNKNOWN"])
