"""Fixtures for all tests."""

from __future__ import annotations

import gc
import importlib
import logging
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import hypothesis
import pytest

from tests.rule_coverage import pytest_collection_modifyitems, pytest_configure, pytest_runtest_call  # noqa: F401
from tests.skip_summary import pytest_terminal_summary  # noqa: F401
from tests.warm_process import WarmPopen

if TYPE_CHECKING:
    from nnapi.testing.corpus import Corpus

os.environ["DEBUG_NN_CPUONLY"] = "1"  # tests of engines name them; the others must not depend on what is installed
os.environ["NNAPI_TUNING"] = "0"  # plans follow the declared costs; what is measured would depend on the machine
# However slow the machine is today: no example fails for the time it took.
hypothesis.settings.register_profile("untimed", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("untimed")
ROOT = Path(__file__).resolve().parents[1]
_kept = tempfile.TemporaryDirectory(prefix="nnapi-tests-")
os.environ["NNAPI_CACHE_DIR"] = _kept.name  # what is kept of files and measurements, the user's own left alone


def pytest_collection(session: pytest.Session) -> None:
    """Import the tests in another order in each of xdist's processes, so that in a fresh checkout each process compiles
    its share of them."""
    if worker := getattr(session.config, "workerinput", None):
        files = [path for name in session.config.args for path in sorted(Path(name).rglob("test_*.py"))]
        first = int(worker["workerid"].removeprefix("gw")) * len(files) // worker["workercount"]
        for path in files[first:] + files[:first]:
            with suppress(BaseException):  # the collection raises it again
                importlib.import_module(".".join(path.absolute().relative_to(ROOT).with_suffix("").parts))


def pytest_collection_finish() -> None:
    """Ten thousand tests are many objects, which no collection of garbage needs to look at again."""
    gc.collect()
    gc.freeze()


_last_file: list[Path] = []


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Nor do collections need to look at what tests of other files have imported and cached."""
    if _last_file != [item.path]:
        _last_file[:] = [item.path]
        gc.collect(1)
        gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _nominal_figures() -> Iterator[None]:
    """Nothing depends on the processor at hand: nominal figures decide how graphs are rewritten for XNNPACK."""
    if find_spec("ai_edge_litert") is None:  # nor can its driver be imported
        yield
        return
    from nnapi.drivers.xnnpack.passes import cost_model  # not before the environment above is set

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cost_model, "KERNEL_TIMINGS", {})
        yield


@pytest.fixture(scope="session", autouse=True)
def _warm_drivers() -> Iterator[None]:
    """The processes of drivers that tests use here are forks; those of applications that tests start are not."""
    from nnapi.drivers.isolated import process  # not before the environment above is set

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(process, "subprocess", SimpleNamespace(**vars(subprocess) | {"Popen": WarmPopen}))
        yield


@pytest.fixture
def own_logs() -> Iterator[None]:
    """Let a test set handlers and levels of the package's loggers, which are as before afterward."""
    before = {logger: (logger.level, list(logger.handlers)) for logger in _loggers()}
    yield
    for logger in _loggers():
        level, logger.handlers[:] = before.get(logger, (logging.NOTSET, []))
        logger.setLevel(level)


def _loggers() -> list[logging.Logger]:
    names = list(logging.root.manager.loggerDict)
    return [logging.getLogger(name) for name in names if name.partition(".")[0] == "nnapi"]


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Let signals end processes that a test starts, also if these tests run in the background of a script or under
    ``nohup``."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler), signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    for number, handler in zip((signal.SIGINT, signal.SIGHUP), before, strict=True):
        signal.signal(number, handler)


@pytest.fixture(scope="session")
def corpus() -> Corpus:
    """The public conformance examples, which come with the package."""
    from nnapi.testing.corpus import open_published  # not before the environment above is set

    return open_published()


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference material: $NNAPI_SHARED, or `shared` beside the checkout; skips without it."""
    folder = Path(os.environ.get("NNAPI_SHARED") or ROOT.parent / "shared")
    if not folder.is_dir():
        pytest.skip(f"needs the reference material, which is not at {folder} (NNAPI_SHARED names another folder)")
    return folder
