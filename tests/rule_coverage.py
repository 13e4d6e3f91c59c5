"""Which rules of validation.md the tests prove, found out when they run.

While a test named after a rule runs, the errors that are raised are recorded, and travel with its report: from xdist's
workers too. A rule is covered if tests of it passed and saw all its codes raised. The session fails if a rule is not
covered although all its tests ran and passed; where only some of them ran, nothing is said of the rule.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

import pytest

from nnapi.errors import NnapiError
from tests.rules import codes_of, find_tests, rules_of


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Say in each report how many items its test has, before any of them are deselected."""
    counts = Counter(name_of(item) for item in items)
    for item in items:
        if rules_of(name_of(item)):
            item.user_properties.append(("items", counts[name_of(item)]))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Record the errors that are raised during a test of a rule."""
    if not rules_of(name_of(item)):
        return (yield)
    made: list[NnapiError] = []
    construct = NnapiError.__init__

    def remember(self: NnapiError, message: str) -> None:
        construct(self, message)
        made.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(NnapiError, "__init__", remember)
        try:
            return (yield)
        finally:
            raised = {int(error.code) for error in made if error.__traceback__}
            item.user_properties.append(("raised", sorted(raised)))


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput") and not any("[" in argument for argument in config.args):
        config.pluginmanager.register(RuleCoverage())


def name_of(item: pytest.Item) -> str:
    return getattr(item, "originalname", item.name)


class RuleCoverage:
    """Collect the reports, in the process that workers report to."""

    def __init__(self) -> None:
        self.passed: Counter[str] = Counter()
        self.items: dict[str, int] = {}
        self.raised: dict[str, set[int]] = defaultdict(set)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        told = dict(report.user_properties)
        if report.when != "call" or not report.passed or "raised" not in told:
            return
        name = report.nodeid.rpartition("::")[2].partition("[")[0]
        self.passed[name] += 1
        self.items[name] = int(str(told["items"]))
        self.raised[name] |= set(told["raised"])  # type: ignore[call-overload]

    def missing(self) -> list[str]:
        """Return a line for each rule whose error was not raised."""
        lines = []
        for rule, tests in sorted(find_tests().items()):
            if all(self.passed[test] >= self.items.get(test, 1) for test in tests):
                seen = {code for test in tests for code in self.raised[test]}
                lines += [f"rule {rule}: {code.name} was not raised" for code in codes_of(rule) if code not in seen]
        return lines

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.missing() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if lines := self.missing():
            terminalreporter.section("rules of validation.md that no test breaks")
            for line in lines:
                terminalreporter.line(line)
