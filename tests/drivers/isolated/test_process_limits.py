"""A driver's process cannot use what its limits deny, and can use what they permit."""

import ctypes
import errno
import os
import platform
import socket
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from nnapi import Device, compile
from nnapi.contract.driver import PrepareOptions, Request
from nnapi.drivers.isolated import Isolated, process_limits
from nnapi.errors import BadDataError, NnapiError, OpFailedError
from tests.drivers.isolated.isolated_cases import Trying, model

X = np.array([1, -2, 3, -4], np.float32)


def has_seccomp() -> bool:
    """Whether the system knows the call that sets a filter: qemu-user does not."""
    machine = process_limits.MACHINES.get(platform.machine())
    if machine is None:
        return True  # then forbid says so
    library, get_action_avail = ctypes.CDLL(None, use_errno=True), 2
    action = ctypes.byref(ctypes.c_uint32(process_limits.ALLOW))
    return library.syscall(machine.seccomp, get_action_avail, 0, action) == 0 or ctypes.get_errno() != errno.ENOSYS


needs_seccomp = pytest.mark.skipif(not has_seccomp(), reason="the system has no seccomp, as under qemu-user")


def tried(*attempts: str, **options: object) -> list[str]:
    """Return the error of each attempt that a driver makes in its process; empty if it succeeds."""
    errors = []
    with Device(Isolated(Trying("\n".join(attempts)), **options)) as found:  # type: ignore[arg-type]
        for _ in attempts:
            try:
                prepared = found.driver.prepare(model(), PrepareOptions())
                assert prepared.execute(Request([X])).outputs[0].tolist() == [1, 2, 3, 4]
                errors.append("")
            except NnapiError as error:
                errors.append(str(error))
    return errors


SOCKET_ATTEMPTS = ["socket", "thread's socket", "pair"]


@needs_seccomp
@pytest.mark.slow
def test_sockets() -> None:
    assert tried(*SOCKET_ATTEMPTS) == [""] * 3
    for what, refused in zip(SOCKET_ATTEMPTS, tried(*SOCKET_ATTEMPTS, network=False), strict=True):
        assert "PermissionError" in refused, what


CHANGES = ["fifo", "node", "mode", "owner", "times", "write", "append", "make", "remove", "rename", "cut"]


@needs_seccomp
@pytest.mark.slow
def test_files(tmp_path: Path) -> None:
    files = [tmp_path / what / "file" for what in CHANGES]
    for file in files:
        file.parent.mkdir()
        file.write_text("kept")
    attempts = [f"{what} {file}" for what, file in zip(CHANGES, files, strict=True)]
    *refused, read = tried(*attempts, f"read {files[0]}", files=False)
    assert read == ""
    for what, error, file in zip(CHANGES, refused, files, strict=True):
        assert "PermissionError" in error, what
        assert file.read_text() == "kept"
        assert os.listdir(file.parent) == ["file"]
    assert tried(*attempts) == [""] * len(attempts)


@needs_seccomp
@pytest.mark.slow
def test_attributes(tmp_path: Path) -> None:
    """Not every file system has them; where they are refused, none is asked."""
    assert "PermissionError" in tried(f"attribute {tmp_path}", files=False)[0]
    assert "PermissionError" not in tried(f"attribute {tmp_path}")[0]


@needs_seccomp
@pytest.mark.slow
def test_other_processes() -> None:
    trace, descriptor = tried("trace", "descriptor")
    assert "ProcessLookupError" in trace
    assert descriptor == ""
    for limit in ("network", "files"):
        for refused in tried("trace", "descriptor", **{limit: False}):
            assert "PermissionError" in refused, limit


def taken(driver: Isolated) -> int:
    """The bytes that its process has to itself, which are more where there are many processors."""
    with Device(driver) as found:
        compile(model(), found).run(X)
        status = Path(f"/proc/{driver.pid}/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmData"))) << 10


@pytest.mark.slow
def test_memory() -> None:
    memory = taken(Isolated(Trying("take 1"))) + (200 << 20)
    assert tried("take 400") == [""]
    refused, fine = tried("take 400", "take 1", memory=memory)
    assert "no memory left" in refused
    assert f"its memory is limited to {memory / (1 << 20):g} MiB (memory={memory})" in refused
    assert fine == ""
    with pytest.raises(BadDataError, match="memory is 0, must be above 0"):
        Isolated("nnapi-reference", memory=0)


@pytest.mark.slow
@pytest.mark.engine
def test_an_engine_works_within_limits() -> None:
    pytest.importorskip("ai_edge_litert")
    memory = taken(Isolated("xnnpack-cpu")) + (256 << 20)
    with Device(Isolated("xnnpack-cpu", memory=memory, network=False, files=False)) as found:
        assert compile(model(), found).run(X)[0].tolist() == [1, 2, 3, 4]


@needs_seccomp
def test_what_is_forbidden_is_refused_and_ends_nothing() -> None:
    code = "import os, socket; from nnapi.drivers.isolated import process_limits\n"
    code += "process_limits.forbid(sockets=True, writing=True)\n"
    for attempt in ("socket.socket()", "open('file', 'w')"):
        code += f"try: {attempt}\nexcept PermissionError: os.write(1, b'refused ')\n"
    assert subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE).stdout == b"refused refused "


def test_a_processor_that_nobody_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "pdp11")
    with pytest.raises(OpFailedError, match="sockets and files cannot be refused on pdp11"):
        process_limits.forbid(sockets=True, writing=True)
    with socket.socket():
        pass


EVERYWHERE = {"io_uring_setup": 425, "openat2": 437, "pidfd_getfd": 438}
CHANGES_EVERYWHERE = {"fchmodat2": 452, "setxattrat": 463, "removexattrat": 466}
# The tables of Linux: arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h.
OTHERS = {
    "x86_64": {"ptrace": 101, "open_by_handle_at": 304, "process_vm_readv": 310, "process_vm_writev": 311},
    "aarch64": {"ptrace": 117, "open_by_handle_at": 265, "process_vm_readv": 270, "process_vm_writev": 271},
}
SOCKETS = {"x86_64": {"socket": 41, "socketpair": 53}, "aarch64": {"socket": 198, "socketpair": 199}}
FILES = {
    "x86_64": {
        "truncate": 76,
        "rename": 82,
        "mkdir": 83,
        "rmdir": 84,
        "creat": 85,
        "link": 86,
        "unlink": 87,
        "symlink": 88,
        "chmod": 90,
        "fchmod": 91,
        "chown": 92,
        "fchown": 93,
        "lchown": 94,
        "utime": 132,
        "mknod": 133,
        "setxattr": 188,
        "lsetxattr": 189,
        "fsetxattr": 190,
        "removexattr": 197,
        "lremovexattr": 198,
        "fremovexattr": 199,
        "utimes": 235,
        "mkdirat": 258,
        "mknodat": 259,
        "fchownat": 260,
        "futimesat": 261,
        "unlinkat": 263,
        "renameat": 264,
        "linkat": 265,
        "symlinkat": 266,
        "fchmodat": 268,
        "utimensat": 280,
        "renameat2": 316,
    },
    "aarch64": {
        "setxattr": 5,
        "lsetxattr": 6,
        "fsetxattr": 7,
        "removexattr": 14,
        "lremovexattr": 15,
        "fremovexattr": 16,
        "mknodat": 33,
        "mkdirat": 34,
        "unlinkat": 35,
        "symlinkat": 36,
        "linkat": 37,
        "renameat": 38,
        "truncate": 45,
        "fchmod": 52,
        "fchmodat": 53,
        "fchownat": 54,
        "fchown": 55,
        "utimensat": 88,
        "renameat2": 276,
    },
}
OPEN = {"x86_64": {2: 1, 257: 2}, "aarch64": {56: 2}}
"""open and openat, each with the index of its flags argument."""
AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}


def passes(program: list[bytes], audit: int, number: int, arguments: Sequence[int] = ()) -> bool:
    """Run a filter as Linux does; return whether it allows the call."""
    data = struct.pack("=IIQ6Q", number, audit, 0, *arguments, *[0] * (6 - len(arguments)))
    loaded, at = 0, 0
    while True:
        code, yes, no, value = struct.unpack("=HBBI", program[at])
        at += 1
        if code == 0x06:  # BPF_RET | BPF_K
            return bool(value == 0x7FFF0000)
        if code == 0x20:  # BPF_LD | BPF_W | BPF_ABS
            (loaded,) = struct.unpack_from("=I", data, value)
        else:  # BPF_JMP with BPF_JEQ, BPF_JGE or BPF_JSET
            at += yes if {0x15: loaded == value, 0x35: loaded >= value, 0x45: bool(loaded & value)}[code] else no


@pytest.mark.parametrize("sockets", [False, True])
@pytest.mark.parametrize("writing", [False, True])
@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_filter_refuses_exactly_the_calls_that_are_named(machine: str, sockets: bool, writing: bool) -> None:
    program, audit = process_limits._program(process_limits.MACHINES[machine], sockets, writing), AUDIT[machine]
    refused = {*EVERYWHERE.values(), *OTHERS[machine].values()}
    refused |= set(SOCKETS[machine].values()) if sockets else set()
    refused |= {*FILES[machine].values(), *CHANGES_EVERYWHERE.values()} if writing else set()
    assert {number for number in range(600) if not passes(program, audit, number)} == refused
    assert not passes(program, audit ^ 1, 0)
    assert not passes(program, audit, 0x40000000)


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_filter_looks_at_the_flags_of_a_file_that_is_opened(machine: str) -> None:
    reading = process_limits._program(process_limits.MACHINES[machine], False, True)
    for number, position in OPEN[machine].items():
        for flags in (os.O_RDONLY, os.O_RDONLY | os.O_CLOEXEC, os.O_DIRECTORY):
            assert passes(reading, AUDIT[machine], number, [0xFFFF] * position + [flags] + [0xFFFF] * (5 - position))
        for flags in (os.O_WRONLY, os.O_RDWR, os.O_RDONLY | os.O_CREAT, os.O_RDONLY | os.O_TRUNC):
            assert not passes(reading, AUDIT[machine], number, [0] * position + [flags])


def test_the_number_of_the_call_that_sets_a_filter() -> None:
    assert (process_limits.MACHINES["x86_64"].seccomp, process_limits.MACHINES["aarch64"].seccomp) == (317, 277)
