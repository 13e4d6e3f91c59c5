"""Results as tables that other programs read: JUnit's XML, and comma-separated values."""

import csv
import io
from collections.abc import Iterable
from xml.etree import ElementTree

from nnapi.printable import printable
from nnapi.testing.suite.expectations import Judged
from nnapi.testing.suite.record import DeviceRun
from nnapi.testing.suite.result import Status, Verdict

HEADINGS = "device", "test", "operations", "type", "status", "expected", "verdict", "seconds", "reason"


def write_csv(runs: Iterable[DeviceRun]) -> str:
    """Return a table with a row for each result."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADINGS)
    for run in runs:
        for each in run.results:
            made = each.result
            words = made.test, " ".join(made.operations), made.type, made.status, each.expected, each.verdict
            writer.writerow((run.device, *words, f"{made.seconds:.6g}", made.reason))
    return text.getvalue()


def write_junit(runs: Iterable[DeviceRun]) -> str:
    """Return JUnit's XML. Unexpected results are failures or errors; expected faults and refusals are skipped."""
    root = ElementTree.Element("testsuites", name="nnapi check")
    for run in runs:
        suite = ElementTree.SubElement(root, "testsuite", name=_clean(run.device))
        for each in run.results:
            _add_case(suite, each)
        for name, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            suite.set(name, str(sum(1 for _ in suite.iter(tag))))
        suite.set("time", f"{sum(each.result.seconds for each in run.results):.6f}")
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, "unicode") + "\n"


def _add_case(suite: ElementTree.Element, judged: Judged) -> None:
    made = judged.result
    operation = made.operations[0] if made.operations else ""
    words = {"classname": operation, "name": _clean(made.test), "time": f"{made.seconds:.6f}"}
    case = ElementTree.SubElement(suite, "testcase", words)
    tag = _name_tag(judged)
    if tag == "system-out":
        ElementTree.SubElement(case, tag).text = _clean(f"{judged.verdict}: {made.reason}")
    elif tag:
        message = describe_status(judged)
        kind = {} if tag == "skipped" else {"type": str(judged.verdict)}
        ElementTree.SubElement(case, tag, {"message": _clean(message), **kind}).text = _clean(made.reason)


def _name_tag(judged: Judged) -> str:
    match judged.verdict:
        case Verdict.FLAKE | Verdict.KNOWN_FLAKE:
            return "system-out"
        case Verdict.EXPECTED:
            return "" if judged.result.status is Status.PASSED else "skipped"
        case Verdict.REGRESSION if judged.result.status in (Status.CRASHED, Status.TIMED_OUT):
            return "error"
    return "failure"


def describe_status(judged: Judged) -> str:
    """Return the status, and the expected one if that differs and is not a pass: ``passed, expected: failed``."""
    status, expected = judged.result.status, judged.expected
    return str(status) if expected in (status, Status.PASSED) else f"{status}, expected: {expected}"


def _clean(text: str) -> str:
    """Return the text without characters that XML cannot hold."""
    return printable(text, keeps_lines=True).encode(errors="replace").decode()
