"""Forks while the reference computes."""

import subprocess
import sys
import threading

import pytest

from nnapi.drivers.reference.forks import Kernels
from tests.waiting import comes_true

CODE = """
import os, threading
import numpy as np
from nnapi import Builder, compile, tensor

b = Builder()
x = b.input(tensor("float32", (128, 512)))
for _ in range(4):
    x = b.fully_connected(x, np.ones((512, 512), np.float32), np.zeros(512, np.float32))
b.output(x)
compilation = compile(b.finish(), "nnapi-reference")
image = np.ones((128, 512), np.float32)
runs, is_over = [], threading.Event()

def compute():
    while not is_over.is_set():
        compilation.run(image)
        runs.append(1)

thread = threading.Thread(target=compute, daemon=True)
thread.start()
for _ in range(6):
    before = len(runs)
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
    while len(runs) == before:  # for ever, if the fork ended the threads of a product
        is_over.wait(0.01)
is_over.set()
thread.join()
print("done")
"""


@pytest.mark.slow
def test_runs_of_other_threads_survive_forks() -> None:
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", CODE], capture_output=True, text=True, timeout=240)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def test_a_fork_waits_for_a_kernel_and_keeps_the_next_one_waiting() -> None:
    kernels, order = Kernels(), list[str]()
    begun, ended = threading.Event(), threading.Event()

    def compute() -> None:
        with kernels:
            begun.set()
            ended.wait()
            order.append("first")
        with kernels:
            order.append("second")

    def hold() -> None:
        kernels.hold()
        order.append("fork")

    computing, forking = threading.Thread(target=compute), threading.Thread(target=hold)
    computing.start()
    begun.wait()
    forking.start()
    assert comes_true(lambda: kernels._is_held)
    ended.set()
    forking.join()
    assert order == ["first", "fork"]
    kernels.release()
    computing.join()
    assert order == ["first", "fork", "second"]


def test_a_child_has_no_kernels_of_other_threads() -> None:
    kernels = Kernels()
    kernels._running.add(-1)
    kernels._is_held = True
    kernels.forget()
    with kernels:
        assert kernels._running == {threading.get_ident()}
    assert not kernels._running
