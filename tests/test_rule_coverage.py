"""Every rule of validation.md has a test or a reason, and a session fails that does not see its error raised."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.rules import COUNT, NOT_APPLICABLE, codes_of, find_tests, rules_of

REPOSITORY = Path(__file__).parents[1]
HOOKS = "from tests.rule_coverage import pytest_collection_modifyitems, pytest_configure, pytest_runtest_call\n"
RAISING = """
import pytest
from nnapi.errors import BadDataError
@pytest.mark.parametrize("raised", [False, True])
def test_rule_012_some_raise(raised):
    if raised:
        with pytest.raises(BadDataError):
            raise BadDataError("too much")
"""
"""A test of rule 12, which asks for BAD_DATA."""


def test_every_rule_has_a_test_or_a_reason_not_to() -> None:
    assert set(range(1, COUNT + 1)) - find_tests().keys() == NOT_APPLICABLE.keys()
    assert all(len(reason.split()) > 5 for reason in NOT_APPLICABLE.values())


@pytest.mark.slow
def test_no_two_tests_of_rules_have_the_same_name() -> None:
    sources = [path.read_text() for path in (REPOSITORY / "tests").rglob("test_*.py")]
    for names in find_tests().values():
        assert all(sum(source.count(f"\ndef {name}(") for source in sources) == 1 for name in names)


def test_rules_of_a_name() -> None:
    assert rules_of("test_rule_084_085_what_is_final") == {84, 85}
    assert rules_of("test_rules_of_084") == set()
    assert {code.name for code in codes_of(12)} == {"BAD_DATA"}
    assert codes_of(11) == frozenset()


def session(folder: Path, source: str, *options: str) -> subprocess.CompletedProcess[str]:
    """A session of its own with these tests and the hooks, for which they are all tests of their rules."""
    (folder / "conftest.py").write_text(
        f"import tests.rules, tests.rule_coverage\nfrom pathlib import Path\n{HOOKS}"
        "tests.rules.Path = lambda _: Path(__file__)\n"
    )
    (folder / "test_some.py").write_text(source)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, str(folder)]
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [[], ["-p", "xdist", "-n", "1"]], ids=["alone", "worker"])
def test_what_is_raised_counts_wherever_it_runs(tmp_path: Path, workers: list[str]) -> None:
    done = session(tmp_path, RAISING, *workers)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("workers", [[], ["-p", "xdist", "-n", "1"]], ids=["alone", "worker"])
def test_a_rule_whose_error_is_not_raised_fails_the_session(tmp_path: Path, workers: list[str]) -> None:
    done = session(tmp_path, RAISING.replace("[False, True]", "[False]"), *workers)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "rule 12: BAD_DATA was not raised" in done.stdout


@pytest.mark.slow
def test_an_error_that_is_made_and_not_raised_does_not_count(tmp_path: Path) -> None:
    done = session(tmp_path, RAISING.replace("if raised:", 'BadDataError("not raised")\n    if False:'))
    assert "rule 12: BAD_DATA was not raised" in done.stdout


@pytest.mark.slow
def test_nothing_is_said_of_a_rule_of_which_only_a_part_ran(tmp_path: Path) -> None:
    assert session(tmp_path, RAISING, "-k", "False").returncode == 0
    more = RAISING + "def test_rule_012_another():\n    raise BadDataError('too much')\n"
    done = session(tmp_path, more)
    assert done.returncode == 1
    assert "rule 12" not in done.stdout.partition("short test summary")[0].partition("rules of validation.md")[2]
