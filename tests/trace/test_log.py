"""Loggers that are looked up when there is something to be said."""

import logging
import subprocess
import sys

import pytest

from nnapi.trace.log import Log

PROGRAM = """
import sys
from nnapi.trace.log import Log
log = Log("nnapi.Memory")
log.debug("a %s", 1)
log.info("b")
print(log.is_verbose, "logging" in sys.modules)
log.warning("c %s", 2)
print("logging" in sys.modules)
"""


def test_logging_is_imported_for_a_warning_only() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False", "True"]
    assert done.stderr == "c 2\n"


def test_who_has_asked_is_told(caplog: pytest.LogCaptureFixture) -> None:
    log = Log("nnapi.Memory")
    with caplog.at_level(logging.DEBUG, "nnapi.Memory"):
        assert log.is_verbose
        log.debug("a %s", 1)
        log.info("b")
        log.warning("c")
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("DEBUG", "a 1"),
        ("INFO", "b"),
        ("WARNING", "c"),
    ]
    assert {record.filename for record in caplog.records} == {"test_log.py"}


def test_nobody_is_told_who_has_not(caplog: pytest.LogCaptureFixture) -> None:
    log = Log("nnapi.Memory")
    with caplog.at_level(logging.WARNING, "nnapi.Memory"):
        assert not log.is_verbose
        log.info("b")
    assert not caplog.records


def test_a_warning_is_no_error_where_logging_cannot_be_imported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "logging", None)  # an ImportError
    Log("nnapi.Memory").warning("c %s", 2)
    assert capsys.readouterr().err == "c 2\n"
