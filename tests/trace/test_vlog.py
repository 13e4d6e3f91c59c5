"""Logs."""

import logging
import os
import re
import subprocess
import sys
import threading

import pytest

import nnapi
from nnapi.errors import BadDataError
from nnapi.trace.vlog import PARTS, Formatter, from_environment, letter, parse_filters, vlog

TOP = logging.getLogger("nnapi")


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, own_logs: None) -> None:
    """Loggers as they are without pytest's handlers."""

    def is_heard(logger: logging.Logger) -> bool:
        others = [handler for handler in logger.handlers if "pytest" not in type(handler).__module__]
        return any(not isinstance(handler, logging.NullHandler) for handler in others)

    monkeypatch.setattr("nnapi.trace.vlog._is_heard", is_heard)
    TOP.handlers[:] = []


def record(level: int, name: str = "nnapi.ExecutionPlan", message: str = "hello") -> logging.LogRecord:
    return logging.LogRecord(name, level, __file__, 1, message, None, None)


@pytest.mark.parametrize(
    "text", ["model compilation", "model,compilation", "model:compilation", " Model , compilation:"]
)
def test_parts(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    vlog(text)
    for tag in ("ModelBuilder", "ExecutionPlan", "CpuExecutor"):
        logging.getLogger(f"nnapi.{tag}").debug("from %s", tag)
    found = capsys.readouterr().err
    assert "from ModelBuilder" in found
    assert "from ExecutionPlan" in found
    assert "CpuExecutor" not in found


@pytest.mark.parametrize("text", ["all", "1", "model,1"])
def test_all(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    vlog(text)
    for tags in PARTS.values():
        logging.getLogger(f"nnapi.{tags[0]}").debug("here")
    assert capsys.readouterr().err.count("here") == len(PARTS)


def test_default_shows_a_line_but_no_details(capsys: pytest.CaptureFixture[str]) -> None:
    vlog("all")
    vlog("")
    log = logging.getLogger("nnapi.ExecutionBuilder")
    log.debug("detail")
    log.info("line")
    assert capsys.readouterr().err.splitlines() == [f"I/ExecutionBuilder({os.getpid():5}): line"]


def test_unknown_parts() -> None:
    with pytest.raises(BadDataError, match="vlog does not know compiler, only model"):
        vlog("model compiler")


def test_filters(capsys: pytest.CaptureFixture[str]) -> None:
    vlog("all", filters="ExecutionPlan:V Memory:E *:S")
    for tag in ("ExecutionPlan", "Memory", "Manager"):
        logging.getLogger(f"nnapi.{tag}").debug("detail of %s", tag)
        logging.getLogger(f"nnapi.{tag}").error("error of %s", tag)
    found = [line.partition("): ")[2] for line in capsys.readouterr().err.splitlines()]
    assert found == ["detail of ExecutionPlan", "error of ExecutionPlan", "error of Memory"]


def test_filter_words() -> None:
    assert parse_filters("A:I B *:s") == {"A": logging.INFO, "B": 1, "*": 100}
    assert parse_filters("") == {"*": 1}
    with pytest.raises(BadDataError, match="'A:X' is not a filter"):
        parse_filters("A:X")


def test_handlers_of_the_application_are_enough(capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = seen.append  # type: ignore[assignment, method-assign]
    TOP.addHandler(handler)
    vlog("model")
    logging.getLogger("nnapi.ModelBuilder").debug("once")
    assert [one.getMessage() for one in seen] == ["once"]
    assert capsys.readouterr().err == ""


def test_threadtime() -> None:
    text = Formatter("threadtime").format(record(logging.WARNING))
    found = re.fullmatch(r"\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} +(\d+) +(\d+) W ExecutionPlan: hello", text)
    assert found
    assert (int(found[1]), int(found[2])) == (os.getpid(), threading.get_native_id())


def test_brief_repeats_its_head_on_every_line() -> None:
    text = Formatter().format(record(logging.INFO, "nnapi.Memory", "a\nb"))
    assert re.fullmatch(r"I/Memory  \( *\d+\): a\nI/Memory  \( *\d+\): b", text)
    with pytest.raises(BadDataError, match="no format long"):
        Formatter("long")


def compiled() -> None:
    builder = nnapi.Builder()
    x = builder.input(nnapi.tensor("float32", (2,)))
    builder.output(builder.relu(x))
    nnapi.compile(builder.finish(), "nnapi-reference").burst().close()


def test_a_compilation_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    vlog("")
    compiled()
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("nnapi-reference 1 of 1 operation in 1 partition")


def test_details_are_those_of_the_guide(capsys: pytest.CaptureFixture[str]) -> None:
    vlog("all")
    compiled()
    found = capsys.readouterr().err
    assert "ModelBuilder::findBestDeviceForEachOperation(RELU): = 0" in found
    assert "ModelBuilder::partitionTheWork: only one best device: nnapi-reference" in found
    for tag in ("ModelBuilder", "CompilationBuilder", "ExecutionPlan", "CpuExecutor", "BurstBuilder"):
        assert f"/{tag}(" in found


def test_letters() -> None:
    assert [letter(level) for level in (1, 10, 20, 30, 40, 50)] == list("VDIWEF")


def test_environment(capsys: pytest.CaptureFixture[str]) -> None:
    from_environment({})
    logging.getLogger("nnapi.Manager").debug("nothing")
    from_environment({"DEBUG_NN_VLOG": "manager", "ANDROID_PRINTF_LOG": "threadtime"})
    logging.getLogger("nnapi.Manager").debug("hello")
    assert re.fullmatch(r".*\d D Manager : hello\n", capsys.readouterr().err)


def test_mistakes_in_the_environment_do_not_stop_anybody() -> None:
    code = "import nnapi"
    environment = {"DEBUG_NN_VLOG": "everything", "PATH": ""}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert (
        done.stderr
        == "DEBUG_NN_VLOG or ANDROID_LOG_TAGS: vlog does not know everything, only " + " ".join(PARTS) + " all\n"
    )
