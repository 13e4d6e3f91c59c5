"""Locks that a forked child finds free."""

import subprocess
import sys

CODE = """
import os, signal, threading
from nnapi.locks import make_lock

lock, held, done = make_lock(), threading.Event(), threading.Event()
def hold():
    with lock:
        held.set()
        done.wait()
threading.Thread(target=hold, daemon=True).start()
held.wait()
child = os.fork()
if not child:
    signal.alarm(60)
    with lock:
        os._exit(0 if lock.locked() else 1)
assert lock.locked()
print(os.waitpid(child, 0)[1])
done.set()
"""


def test_a_lock_that_another_thread_holds_is_free_in_a_forked_child() -> None:
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", CODE], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "0\n"), done.stderr
