"""Locks and turns that a forked child finds free."""

import subprocess
import sys
import threading

import pytest

from nnapi.locks import Numbers, Turn

CODE = """
import os, signal, threading
from nnapi.locks import Turn, make_lock

lock, turn, held, done = make_lock(), Turn(), threading.Event(), threading.Event()
def hold():
    with lock:
        turn.take()
        held.set()
        done.wait()
threading.Thread(target=hold, daemon=True).start()
held.wait()
child = os.fork()
if not child:
    signal.alarm(60)
    turn.take()
    with lock:
        os._exit(0 if lock.locked() else 1)
assert lock.locked() and not turn._free
print(os.waitpid(child, 0)[1])
done.set()
"""


def test_what_another_thread_holds_is_free_in_a_forked_child() -> None:
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", CODE], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "0\n"), done.stderr


def test_a_turn_is_taken_once_until_it_is_given_back() -> None:
    turn = Turn()
    for _ in range(2):
        turn.take()
        with pytest.raises(IndexError):
            turn.take()
        turn.give(None)


def test_no_number_is_given_twice() -> None:
    numbers, found = Numbers(0x1000, 0x10), list[int]()
    threads = [threading.Thread(target=lambda: found.extend(next(numbers) for _ in range(1000))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == list(range(0x1000, 0x1000 + 4000 * 0x10, 0x10))
