"""Limits that a driver's process sets for itself and cannot lift: memory, sockets, writable files, access to other
processes."""

import ctypes
import errno
import os
import platform
import resource
import struct
from contextlib import suppress
from typing import NamedTuple

from nnapi.codes import PriorityCode
from nnapi.errors import OpFailedError


class Machine(NamedTuple):
    """System call numbers of a processor architecture."""

    audit: int
    seccomp: int
    socket: tuple[int, ...]
    open: tuple[tuple[int, int], ...]
    """Calls that open files, each with the index of its flags argument."""
    change: tuple[int, ...]
    """Calls that make, rename, remove or truncate files by name, or change their owner, mode or attributes."""
    others: tuple[int, ...]
    """ptrace, process_vm_readv, process_vm_writev, open_by_handle_at."""


MACHINES = {
    "x86_64": Machine(
        0xC000003E,
        317,
        (41, 53),
        ((2, 1), (257, 2)),
        (
            *(76, 82, 83, 84, 85, 86, 87, 88, 133, 258, 259, 263, 264, 265, 266, 316),
            *(90, 91, 92, 93, 94, 132, 188, 189, 190, 197, 198, 199, 235, 260, 261, 268, 280),
        ),
        (101, 304, 310, 311),
    ),
    "aarch64": Machine(
        0xC00000B7,
        277,
        (198, 199),
        ((56, 2),),
        (5, 6, 7, 14, 15, 16, 33, 34, 35, 36, 37, 38, 45, 52, 53, 54, 55, 88, 276),
        (117, 265, 270, 271),
    ),
}
AROUND = (425, 437, 438)
"""io_uring_setup and openat2, which could bypass the filter, and pidfd_getfd. Same numbers on all architectures."""
CHANGE = (452, 463, 466)
"""fchmodat2, setxattrat, removexattrat. Same numbers on all architectures."""
OTHER_TABLE = 0x40000000
"""First number of the x32 calls, a second table of calls on x86-64."""

LOAD, EQUAL, LEAST, ANY, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
"""BPF instructions of the filter: load a word; jump if equal, if at least, if any bit is set; return."""
NUMBER, AUDIT, ARGUMENTS = 0, 4, 16
"""Offsets in seccomp_data: the call's number, the architecture, the arguments."""
ALLOW, REFUSE = 0x7FFF0000, 0x00050000 | errno.EPERM
PR_SET_NO_NEW_PRIVS = 38
SET_FILTER, ALL_THREADS = 1, 1
NICE = {PriorityCode.PRIORITY_HIGH: 0, PriorityCode.PRIORITY_MEDIUM: 3, PriorityCode.PRIORITY_LOW: 10}
"""Niceness by priority. Beside a busy process of high priority, medium gets a third of the time, low a tenth."""
BACKGROUND = NICE[PriorityCode.PRIORITY_LOW]
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def limit_memory(size: int) -> None:
    """Limit this process's private memory to ``size`` bytes."""
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    if most != resource.RLIM_INFINITY:
        size = min(size, most)
    resource.setrlimit(resource.RLIMIT_DATA, (size, size))


def lower_priority(nice: int) -> None:
    """Increase the niceness of all threads of this process; new threads inherit it."""
    nice = min(os.getpriority(os.PRIO_PROCESS, 0) + nice, 19)
    for thread in os.listdir("/proc/self/task"):
        with suppress(ProcessLookupError):  # the thread has ended
            os.setpriority(os.PRIO_PROCESS, int(thread), nice)


def forbid(*, sockets: bool, writing: bool) -> None:
    """Forbid this process to make sockets, to open files for writing, and to access other processes. OpFailedError if
    the system does not support that."""
    machine = MACHINES.get(platform.machine())
    if machine is None:
        raise OpFailedError(f"sockets and files cannot be refused on {platform.machine()}")
    program = b"".join(_program(machine, sockets, writing))
    library = ctypes.CDLL(None, use_errno=True)
    wanted = _Program(len(program) // 8, program)
    done = library.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
    if not done or library.syscall(machine.seccomp, SET_FILTER, ALL_THREADS, ctypes.byref(wanted)):
        raise OpFailedError(f"sockets and files cannot be refused: {os.strerror(ctypes.get_errno())}")


def _program(machine: Machine, sockets: bool, writing: bool) -> list[bytes]:
    """Return the BPF filter that the system runs at each call. A jump has the number of instructions to skip if its
    test holds, and if not."""
    refused = [*machine.others, *AROUND, *(machine.socket if sockets else ())]
    refused += [*machine.change, *CHANGE] if writing else []
    lines = [_line(LOAD, AUDIT), _line(EQUAL, machine.audit, 1, 0), _line(RETURN, REFUSE), _line(LOAD, NUMBER)]
    lines += [_line(LEAST, OTHER_TABLE, 0, 1), _line(RETURN, REFUSE)]
    for number in refused:
        lines += [_line(EQUAL, number, 0, 1), _line(RETURN, REFUSE)]
    for number, position in machine.open if writing else ():
        flags = ARGUMENTS + 8 * position
        lines += [_line(EQUAL, number, 0, 4), _line(LOAD, flags), _line(ANY, WRITING, 0, 1), _line(RETURN, REFUSE)]
        lines += [_line(RETURN, ALLOW)]
    return [*lines, _line(RETURN, ALLOW)]


def _line(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)
