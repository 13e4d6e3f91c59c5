"""Processes that share the work of a check: Ctrl-C is the parent's, and none outlives it."""

import os
import signal
import time
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from nnapi.store.temporary import temporary_folder
from nnapi.testing.child_processes import leave_with, starting_children

SPAWN = get_context("spawn")


def work(parent: Connection, answer: Connection) -> None:
    leave_with(parent)
    with temporary_folder("child") as folder:
        answer.send(folder)
        answer.recv()
        answer.send("still here")
        time.sleep(600)


@pytest.fixture
def child() -> Any:
    """A child at work, its end of the pipe, and the connection with which it leaves."""
    (reader, writer), (here, there) = SPAWN.Pipe(duplex=False), SPAWN.Pipe()
    process = SPAWN.Process(target=work, args=(reader, there), daemon=True)
    with starting_children():
        process.start()
    yield process, here, writer
    process.kill()
    process.join()
    for each in (reader, writer, here, there):
        each.close()


@pytest.mark.slow
def test_a_child_leaves_with_its_parent_and_removes_its_folders(child: Any) -> None:
    process, pipe, writer = child
    folder = Path(pipe.recv())
    assert folder.is_dir()
    writer.close()
    process.join(300)
    assert process.exitcode == 0
    assert not folder.exists()


@pytest.mark.slow
def test_a_child_is_not_interrupted(child: Any) -> None:
    process, pipe, _ = child
    os.kill(process.pid, signal.SIGINT)
    pipe.recv()
    os.kill(process.pid, signal.SIGINT)
    pipe.send("go on")
    assert pipe.recv() == "still here"


def test_this_process_is_interrupted_as_before() -> None:
    with starting_children():
        assert signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
