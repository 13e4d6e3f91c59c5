"""Tests with many rows of arguments: one test for all rows in a run of all tests, else one for each row."""

from __future__ import annotations

import functools
import inspect
import os
import traceback
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

PARAM = type(pytest.param())
Test = Callable[..., None]
Names = str | Sequence[str]
Ids = Callable[[Any], object] | Sequence[str] | None


def each_row(names: Names, rows: Iterable[Any], ids: Ids = None) -> Callable[[Test], Test]:
    """Run a test with each row, as `pytest.mark.parametrize` does.

    In xdist's processes, one test runs all rows, because pytest takes longer to report a test than most rows take.
    Elsewhere, and if a row has marks, each row is a test, for `-k` and debuggers.
    """
    rows = list(rows)
    if "PYTEST_XDIST_WORKER" in os.environ and not any(isinstance(row, PARAM) and row.marks for row in rows):
        return functools.partial(join, names=names, rows=rows, ids=ids)
    return pytest.mark.parametrize(names, rows, ids=ids)


def join(test: Test, names: Names, rows: Sequence[Any], ids: Ids = None) -> Test:
    """Return a test that runs all rows. It fails with the traceback of each row that fails."""
    parameters = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    alone = isinstance(names, str) and len(parameters) == 1
    signature = inspect.signature(test)

    @functools.wraps(test)
    def run_rows(**fixtures: Any) -> None:
        failures, skips = [], []
        for number, row in enumerate(rows):
            values = row.values if isinstance(row, PARAM) else (row,) if alone else row
            arguments = dict(zip(parameters, values, strict=True))
            try:
                test(**fixtures, **arguments)
            except pytest.skip.Exception as reason:
                skips.append(str(reason))
            except (Exception, pytest.fail.Exception) as error:
                name = ids[number] if isinstance(ids, Sequence) else arguments
                failures.append(f"row {number}: {name}\n{''.join(traceback.format_exception(error))}")
        if failures:
            pytest.fail(f"{len(failures)} of {len(rows)} rows failed\n" + "\n".join(failures), pytrace=False)
        if skips:
            pytest.skip(skips[0])

    fixtures = [parameter for name, parameter in signature.parameters.items() if name not in parameters]
    run_rows.__signature__ = signature.replace(parameters=fixtures)  # type: ignore[attr-defined]
    return run_rows
