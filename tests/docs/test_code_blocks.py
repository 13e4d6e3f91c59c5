"""Every code block of the site runs: see `code_blocks` for what its fence says."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from nnapi.capi import installation
from nnapi.cli import app
from nnapi.cli.old_spellings import replace_old_spellings
from tests.docs.code_blocks import DOCS, Block, find_blocks, list_pages, read_blocks
from tests.warm_python import warm_python
from tools import size

UNTESTED = 10
"""How many blocks may be marked as not tested: each says why."""
GENERATED = {
    "accepted.md",
    "operations.md",
    "non-finite.md",
    "export.md",
    "onnx.md",
    "environment.md",
    "result-codes.md",
}
"""Pages without blocks."""
PAGES = [page for page in list_pages() if page not in GENERATED]
BLOCKS = [block for page in PAGES for block in read_blocks(page)]
EXAMPLES = size.REPOSITORY / "examples" / "digits"
COMPILER = shutil.which("gcc") or shutil.which("cc")


def skip_without_c() -> None:
    problem = installation.library_problem() or (None if COMPILER else "no C compiler")
    if problem:
        pytest.skip(problem)


def test_blocks_are_found() -> None:
    text = '# A\n\n=== "C"\n\n    ```c\n    int x;\n    ```\n\n```sh title="Not tested: a board"\nls\n```\n'
    found = list(find_blocks("a.md", text))
    assert [(block.line, block.language, block.text) for block in found] == [(6, "c", "int x;\n"), (10, "sh", "ls\n")]
    assert [(block.is_run, block.is_untested, block.is_file) for block in found] == [
        (True, False, False),
        (False, True, False),
    ]
    for wrong in ("```cobol\n```", "```\nls\n```", "```sh\nls", "```sh hidden\nls\n```"):
        with pytest.raises(ValueError, match=r"docs/a\.md:1: "):
            list(find_blocks("a.md", wrong))


def test_few_blocks_are_not_tested() -> None:
    assert len([block.place for block in BLOCKS if block.is_untested]) <= UNTESTED


def find_old_spellings(block: Block) -> list[str]:
    """Messages about the commands of a block. `nnapi bench` is short for `nnapi bench run`."""
    found = []
    for command in join_lines(block.text) if block.language in ("sh", "console") else ():
        program, *words = command.removeprefix("$ ").split()
        if program == "nnapi" and words:
            names = {"bench run" if words[0] == "bench" else words[0], " ".join(words[:2])}
            found += [message for name in names for message in replace_old_spellings(name, words)[1]]
    return [f"{block.place}: {message}" for message in found]


def test_commands_have_no_old_spellings() -> None:
    text = "```sh\nnnapi bench a.tflite --precision float32,float16\nnnapi compare a.tflite -d b  # --devices\n```\n"
    (old,) = find_blocks("a.md", text)
    assert find_old_spellings(old) == [
        "docs/a.md:2: --precision is now repeated; a list with commas works until nnapi 2.0"
    ]
    assert [message for block in BLOCKS for message in find_old_spellings(block)] == []


def prepare(page: str, folder: Path) -> None:
    """Files that a page may use: those of examples/digits, the header of the guide, and its own."""
    for file in (*EXAMPLES.glob("*.tflite"), *EXAMPLES.glob("*.npz"), *(DOCS / "guide").glob("*.h")):
        shutil.copy(file, folder)
    for block in BLOCKS:
        if block.page == page and block.is_file:
            (folder / block.title).write_text(block.text)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_logs: None) -> Path:
    """The folder of a page; `nnapi` and the header are found as after `pip install`."""
    monkeypatch.chdir(tmp_path)
    folders = [str(Path(python).parent) for python in (warm_python(), sys.executable)]
    monkeypatch.setenv("PATH", os.pathsep.join([*folders, os.environ["PATH"]]))
    monkeypatch.setenv("COLUMNS", "160")
    return tmp_path


def pages_with(*languages: str) -> list[Any]:
    """Pages that have such blocks to run; one that measures takes a few seconds."""
    found = dict.fromkeys(block.page for block in BLOCKS if block.is_run and block.language in languages)
    measuring = {block.page for block in BLOCKS if block.is_run and "nnapi bench" in block.text}
    return [pytest.param(page, marks=pytest.mark.slow) if page in measuring else page for page in found]


@pytest.mark.parametrize("page", pages_with("python", "sh", "console"))
def test_a_page_runs(page: str, folder: Path) -> None:
    """Its blocks of Python share their names; those of the shell their folder."""
    prepare(page, folder)
    text = "".join(block.text for block in BLOCKS if block.page == page)
    if re.search(r"nnapi (lib|strace)|capi import", text):
        skip_without_c()
    if "onnx" in text:
        pytest.importorskip("onnx")
    if "nnapi migrate" in text:
        pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in (block for block in BLOCKS if block.page == page and block.is_run):
        if block.language == "python":
            run_python(block, names)
        elif block.language == "sh":
            run_shell(block.text, block)
        elif block.language == "console":
            run_console(block)


@pytest.mark.slow
@pytest.mark.engine
@pytest.mark.parametrize("page", list(dict.fromkeys(block.page for block in BLOCKS if block.needs)))
def test_blocks_that_need_more_run(page: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DEBUG_NN_CPUONLY")
    prepare(page, folder)
    blocks = [block for block in BLOCKS if block.page == page and block.needs]
    for block in blocks:
        pytest.importorskip(str(block.needs))
        if block.language == "console":
            run_console(block)
        elif block.language == "sh":
            run_shell(block.text, block)
    program = "".join(block.text for block in blocks if block.language == "python")
    if program:
        subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


def run_python(block: Block, names: dict[str, Any]) -> None:
    source = "\n" * (block.line - 1) + block.text
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(source, DOCS / block.page, "exec"), names)  # what fails is shown with its line of the page


def run_shell(text: str, block: Block) -> str:
    """Run commands; their output. Single calls of `nnapi` run in this process, which is much faster."""
    told = []
    for command in join_lines(text):
        words = re.fullmatch(r"nnapi ([^|;&$<>*'\"()]+)", command)
        if words and not words[1].startswith(("strace", "lib")) and not block.needs:
            result = CliRunner().invoke(app, words[1].partition(" #")[0].split())
            code, output = result.exit_code, result.output
        else:
            done = subprocess.run(["bash", "-ec", command], capture_output=True, text=True, timeout=120)
            code, output = done.returncode, done.stdout + done.stderr
        assert code == 0, f"{block.place}: {command}\n{output}"
        told.append(output)
    return "".join(told)


def join_lines(text: str) -> Iterator[str]:
    """Commands, one a line unless it ends with a backslash; comments are none."""
    for line in text.replace("\\\n", " ").splitlines():
        command = re.sub(r"(^|\s+)# .*", "", line).strip()
        if command:
            yield command


def run_console(block: Block) -> None:
    """Lines after `$ ` are commands. What is shown below one is in its output, in that order, but for numbers; `…`
    stands for anything. A line that begins with `nnapi:` may come sooner: the library writes it while `nnapi strace`
    reads the calls."""
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        output = [blur(line) for line in run_shell(command, block).splitlines()]
        rest = iter(output)
        for line in shown.splitlines():
            pattern = re.compile(re.escape(blur(line)).replace("…", ".*"))
            lines = output if line.startswith("nnapi: ") else rest
            found = line.strip() in ("", "…") or any(pattern.fullmatch(each) for each in lines)
            assert found, f"{block.place}: {line!r} is not in\n{chr(10).join(output)}"


def blur(line: str) -> str:
    """A line without what differs from run to run: numbers, what stands for none, and the width of columns."""
    line = re.sub(r"\d[\d,]*(\.\d+)?(e[-+]?\d+)?( ?([µmn]?s|[KMG]B)\b)?|(?<= )(-|n/a)(?=[ *]|$)", "0", line)
    return re.sub(r"\s+", " ", line.replace("0*", "0")).strip()


def write_program(pages: Sequence[str]) -> str:
    """One program of all pages: the blocks of each are a function, in the lines of the page."""
    parts = ['#include "guide.h"\n']
    for number, page in enumerate(pages):
        blocks = [block for block in BLOCKS if block.page == page and block.language == "c" and block.is_run]
        inside = "".join(f'#line {block.line} "docs/{page}"\n{block.text}' for block in blocks)
        parts.append(f"static void page_{number}(void) {{\n{inside}}}\n")
    calls = "".join(f'    puts("{page}");\n    page_{number}();\n' for number, page in enumerate(pages))
    return "".join([*parts, f"int main(void) {{\n{calls}    return 0;\n}}\n"])


@pytest.mark.slow
def test_blocks_of_c_run(folder: Path) -> None:
    """In one process, which starts Python once."""
    skip_without_c()
    pages = list(dict.fromkeys(block.page for block in BLOCKS if block.is_run and block.language == "c"))
    for page in pages:
        prepare(page, folder)
    (folder / "pages.c").write_text(write_program(pages))
    library = installation.library().parent
    options = ["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Werror", "-Wno-unused", f"-I{installation.include()}"]
    link = [f"-L{library}", f"-Wl,-rpath,{library}", "-lneuralnetworks", "-lm"]
    subprocess.run([str(COMPILER), *options, "pages.c", "-o", "pages", *link], check=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(["./pages"], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [line for line in done.stdout.splitlines() if line in pages] == pages
