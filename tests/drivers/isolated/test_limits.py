"""A driver's process cannot use what its limits deny, and can use what they permit."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from nnapi import Device, compile
from nnapi.drivers.isolated import Isolated, limits
from nnapi.errors import BadDataError, NnapiError, OpFailedError
from tests.drivers.isolated.isolated_cases import Trying, model

X = np.array([1, -2, 3, -4], np.float32)


def tried(what: str, **options: object) -> str:
    """Return the error of a driver's attempt in its process; None if it succeeds."""
    with Device(Isolated(Trying(what), **options)) as found:  # type: ignore[arg-type]
        try:
            assert compile(model(), found).run(X)[0].tolist() == [1, 2, 3, 4]
        except NnapiError as error:
            return str(error)
    return ""


@pytest.mark.slow
@pytest.mark.parametrize("what", ["socket", "thread's socket", "pair"])
def test_sockets(what: str) -> None:
    assert tried(what) == ""
    refused = tried(what, network=False)
    assert "PermissionError" in refused


CHANGES = ["fifo {}", "node {}", "mode {}", "owner {}", "times {}"]


@pytest.mark.slow
@pytest.mark.parametrize("what", ["write {}", "append {}", "make {}", "remove {}", "rename {}", "cut {}", *CHANGES])
def test_files(what: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("kept")
    refused = tried(what.format(file), files=False)
    assert "PermissionError" in refused
    assert file.read_text() == "kept"
    assert os.listdir(tmp_path) == ["file"]
    assert tried(f"read {file}", files=False) == ""
    assert tried(what.format(file)) == ""


@pytest.mark.slow
def test_attributes(tmp_path: Path) -> None:
    """Not every file system has them; where they are refused, none is asked."""
    assert "PermissionError" in tried(f"attribute {tmp_path}", files=False)
    assert "PermissionError" not in tried(f"attribute {tmp_path}")


@pytest.mark.slow
@pytest.mark.parametrize("limit", ["network", "files"])
@pytest.mark.parametrize(("what", "otherwise"), [("trace", "ProcessLookupError"), ("descriptor", "")])
def test_other_processes(what: str, otherwise: str, limit: str) -> None:
    assert otherwise in tried(what)
    assert "PermissionError" not in tried(what)
    assert "PermissionError" in tried(what, **{limit: False})


def taken(driver: Isolated) -> int:
    """The bytes that its process has to itself, which are more where there are many processors."""
    with Device(driver) as found:
        compile(model(), found).run(X)
        status = Path(f"/proc/{driver.pid}/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmData"))) << 10


@pytest.mark.slow
def test_memory() -> None:
    memory = taken(Isolated(Trying("take 1"))) + (200 << 20)
    assert tried("take 400") == ""
    refused = tried("take 400", memory=memory)
    assert "no memory left" in refused
    assert f"its memory is limited to {memory / (1 << 20):g} MiB (memory={memory})" in refused
    assert tried("take 1", memory=memory) == ""
    with pytest.raises(BadDataError, match="memory is 0, must be above 0"):
        Isolated("nnapi-reference", memory=0)


@pytest.mark.slow
@pytest.mark.engine
def test_an_engine_works_within_limits() -> None:
    pytest.importorskip("ai_edge_litert")
    memory = taken(Isolated("xnnpack-cpu")) + (256 << 20)
    with Device(Isolated("xnnpack-cpu", memory=memory, network=False, files=False)) as found:
        assert compile(model(), found).run(X)[0].tolist() == [1, 2, 3, 4]


def test_what_is_forbidden_is_refused_and_ends_nothing() -> None:
    code = "import os, socket; from nnapi.drivers.isolated import limits; limits.refuse(sockets=True, writing=True)\n"
    for attempt in ("socket.socket()", "open('file', 'w')"):
        code += f"try: {attempt}\nexcept PermissionError: os.write(1, b'refused ')\n"
    assert subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE).stdout == b"refused refused "


def test_a_processor_that_nobody_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "pdp11")
    with pytest.raises(OpFailedError, match="sockets and files cannot be refused on pdp11"):
        limits.refuse(sockets=True, writing=True)
    with socket.socket():
        pass
