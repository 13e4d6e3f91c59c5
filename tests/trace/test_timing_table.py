"""The timing table."""

import pytest

from nnapi.trace.parse import Run
from nnapi.trace.timing_table import STAR, detail, list_runs, table, values
from tests.trace.trace_cases import report

TRACE = """
1 1 B [NN_LA_PO]po
1 1 B [NN_LA_PP]describe
2 1 B [NN_LR_PP]ANeuralNetworksModel_finish
3 1 E
4 1 E
4 1 B [NN_LA_PE]x
5 1 B [NN_LR_PE]ANeuralNetworksExecution_compute
5 1 B [NN_LC_PCO]ADD
6 1 E
7 1 E
8 1 B [NN_LA_PR]read
9 1 E
9 1 E
9 1 B [NN_LA_PE]x
9.5 1 E
10 1 E
"""


@pytest.fixture(name="run")
def _run() -> Run:
    (run,) = report(TRACE).runs
    return run


def rows(text: str) -> dict[str, list[str]]:
    return {line.split()[0]: line.split()[1:] for line in text.splitlines() if line and line.split()[0].isalpha()}


def test_self_times(run: Run) -> None:
    found = rows(table(run))
    assert found["Application"] == ["n/a", "2000.00", "n/a", "n/a", "n/a", "1000.00", "3500.00", "n/a", "6000.00*"]
    assert found["Runtime"] == ["-", "1000.00", "-", "-", "1000.00", "-", "1000.00", "-", "2000.00"]
    assert found["Driver"] == ["-", "-", "-", "n/a", "n/a", "n/a", "-", "-", "-"]
    assert found["CPU"] == ["-", "-", "-", "-", "1000.00", "-", "1000.00", "-", "1000.00"]
    assert found["Total"] == ["-*", "3000.00*", "-*", "-*", "4500.00*", "1000.00*", "5500.00*", "-*", "9000.00*"]
    assert STAR in table(run)


def test_total_times(run: Run) -> None:
    found = rows(table(run, total_times=True))
    assert found["Runtime"] == ["-", "1000.00", "-", "-", "2000.00", "-", "2000.00", "-", "3000.00"]


def test_per_execution(run: Run) -> None:
    found = rows(table(run, per_execution=True))
    assert found["Runtime"] == ["-", "500.00", "-", "500.00", "18.18%"]
    assert found["Total"] == ["-*", "2250.00*", "500.00*", "2750.00*", "100.00%"]
    assert "Execution (2x)" in table(run, per_execution=True)


def test_columns_line_up(run: Run) -> None:
    lines = table(run).splitlines()
    titles = next(line for line in lines if "Compilation" in line)
    end = titles.index("Compilation") + len("Compilation")
    cells = [line[end - 1] for line in lines if line.startswith(("Runtime", "IPC", "Driver", "CPU"))]
    assert cells == ["-"] * 4


def test_the_cpu_shows_only_where_it_took_part() -> None:
    (run,) = report("1 1 B [NN_LR_PE]x\n2 1 E").runs
    assert "CPU" not in table(run)


def test_values(run: Run) -> None:
    found = values(run.statistics)
    assert found["LA_PEO"] != found["LA_PEO"]
    assert found["LR_PEO"] == 1000
    assert "LT_PEp" not in found


def test_json_has_null_for_what_is_missing(run: Run) -> None:
    from nnapi.trace.parse import Report

    (found,) = list_runs(Report((run,)))
    assert found["times"]["PC"]["LA"] is None
    assert found["times"]["PE"]["LR"] == 2000
    assert found["execution_counts"] == {"PBM": 0, "PO": 2, "PWU": 0}
    assert (found["version"], found["starting_mark"]) == (1, "B|1|[NN_LA_PO]po")


def test_benchmark_alone_is_divided() -> None:
    text = """
    1 1 B [NN_LA_PWU]w
    1 1 B [NN_LA_PE]x
    5 1 E
    5 1 E
    5 1 B [NN_LA_PBM]b
    5 1 B [NN_LA_PE]x
    6 1 E
    6 1 B [NN_LA_PE]x
    8 1 E
    8 1 E
    """
    (run,) = report(text).runs
    assert values(run.statistics, per_execution=True)["LA_PE"] == 1500
    assert values(run.statistics)["LA_PE"] == 7000


def test_detail(run: Run) -> None:
    lines = list(detail(run))
    assert "thread 1  LC_PCO  1000.000 ms in 1" in lines
    assert not [line for line in lines if line.endswith(" in 0")]
    assert lines[lines.index("thread 1  LC_PCO  1000.000 ms in 1") + 1].split() == ["1000.000", "[NN_LC_PCO]ADD"]
