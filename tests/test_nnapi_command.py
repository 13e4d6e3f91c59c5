"""The command from its first moment."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.usefixtures("interruptible")

INTERRUPTED = """
import os, signal, sys

class Finder:
    def find_spec(self, name, *_):
        if name == "nnapi":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder())
from nnapi_command import main
main()
"""


def test_an_interrupted_import_prints_no_traceback() -> None:
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "nnapi: stopped\n")


def test_an_ignored_signal_stays_ignored() -> None:
    code = (
        f"import sys; sys.argv = ['nnapi', '--version']\nimport signal; signal.signal(2, signal.SIG_IGN){INTERRUPTED}"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
