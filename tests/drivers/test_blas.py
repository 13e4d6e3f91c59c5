"""The threads of NumPy's BLAS: limited while runs ask for it, and the program's own afterward."""

import os
from collections.abc import Iterator
from contextlib import nullcontext

import numpy as np
import pytest

from nnapi import Builder, Model, compile, tensor
from nnapi.contract.driver import PrepareOptions, Request
from nnapi.drivers.reference import blas as module
from nnapi.drivers.reference.blas import Blas, find_blas, limit_runs
from nnapi.runtime.device import device


class Library:
    """A BLAS with a number of threads for the whole process."""

    def __init__(self, threads: int) -> None:
        self.threads, self.changes = threads, 0

    def set(self, threads: int) -> None:
        self.threads, self.changes = threads, self.changes + 1


def product(size: int) -> Model:
    b = Builder("product")
    b.output(
        b.fully_connected(b.input(tensor("float32", (1, size))), np.ones((size, size), "f"), np.zeros(size, "f"), 0)
    )
    return b.finish()


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Iterator[Library]:
    library = Library(8)
    found = Blas(lambda: library.threads, library.set)
    monkeypatch.setattr(module, "find_blas", lambda: (found, ""))
    yield library
    assert not found._limits


def test_runs_at_the_same_time_have_the_smallest_limit(library: Library) -> None:
    blas, _ = module.find_blas()
    assert blas is not None
    seen = []
    for act, limit in ((blas.add, 4), (blas.add, 1), (blas.add, 16), (blas.remove, 1), (blas.remove, 4)):
        act(limit)
        seen.append(library.threads)
    assert seen == [4, 1, 1, 4, 8]
    blas.remove(16)
    assert library.threads == 8


def test_a_number_that_the_program_sets_meanwhile_stays(library: Library) -> None:
    blas, _ = module.find_blas()
    assert blas is not None
    blas.add(1)
    library.threads = 3
    blas.add(2)
    assert library.threads == 1
    blas.remove(1)
    assert library.threads == 2
    blas.remove(2)
    assert library.threads == 3


def test_a_forked_child_forgets_the_runs_of_other_threads(library: Library) -> None:
    blas, _ = module.find_blas()
    assert blas is not None
    blas.add(1)
    blas.forget()
    assert (library.threads, blas._limits) == (8, [])


def test_a_limit_ends_with_its_run_even_if_that_fails(library: Library) -> None:
    seen: list[int] = []

    def fail() -> None:
        with limit_runs(product(32), 2):
            seen.append(library.threads)
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fail()
    assert (seen, library.threads) == ([2], 8)


@pytest.mark.parametrize(("size", "threads", "changes"), [(32, 1, 2), (32, 16, 0), (32, None, 0), (8, 1, 0)])
def test_only_products_worth_sharing_are_limited(
    size: int, threads: int | None, changes: int, library: Library
) -> None:
    prepared = device("nnapi-reference").driver.prepare(product(size), PrepareOptions(threads=threads))
    prepared.execute(Request([np.ones((1, size), np.float32)]))
    assert library.changes == changes


def test_products_of_unknown_size_are_limited(library: Library) -> None:
    b = Builder("unknown")
    b.output(b.fully_connected(b.input(tensor("float32", (0, 4))), np.ones((4, 4), "f"), np.zeros(4, "f"), 0))
    assert not isinstance(limit_runs(b.finish(), 1), nullcontext)
    b = Builder("pointwise")
    b.output(b.abs(b.input(tensor("float32", (0, 4)))))
    assert isinstance(limit_runs(b.finish(), 1), nullcontext)


def test_a_run_on_one_thread_has_one_of_numpy_s_own_blas(monkeypatch: pytest.MonkeyPatch) -> None:
    blas, fault = find_blas()
    if blas is None:
        pytest.skip(fault or "NumPy's BLAS computes on one thread")
    from nnapi.drivers.reference import control_flow

    seen: list[int] = []
    run = control_flow.run
    spy = "nnapi.drivers.reference.program.run"
    monkeypatch.setattr(spy, lambda *given: (seen.append(blas._get()), run(*given))[1])
    before = blas._get()
    blas._set(2)
    try:
        for threads in (1, 2):
            compilation = compile(product(64), "nnapi-reference", threads=threads)
            compilation.run(np.ones((1, 64), np.float32))
            assert blas._get() == 2
    finally:
        blas._set(before)
    assert seen == [1, 2]


@pytest.mark.parametrize(
    ("symbols", "kind", "can", "said"),
    [
        (("openblas_{}",), 1, True, ""),
        (("scipy_openblas_{}64_",), 1, True, ""),
        (("openblas_{}",), 0, False, ""),
        (("openblas_{}",), 2, False, "OpenMP"),
        (("cblas_sgemm",), 0, False, "not OpenBLAS"),
        ((), 0, False, ""),
    ],
    ids=["OpenBLAS", "NumPy's wheel", "sequential", "OpenMP", "another", "none"],
)
def test_kinds_of_blas(
    symbols: tuple[str, ...], kind: int, can: bool, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Loaded:
        def __init__(self, path: str) -> None:
            assert os.path.exists(path)
            names = [
                name.format(each) for name in symbols for each in ("get_parallel", "get_num_threads", "set_num_threads")
            ]
            vars(self).update(dict.fromkeys(names, lambda *_: kind))

        def __getitem__(self, name: str) -> object:
            return vars(self)[name]

    monkeypatch.setattr("ctypes.CDLL", Loaded)
    monkeypatch.setattr(os, "register_at_fork", lambda **_: None)
    blas, fault = find_blas.__wrapped__()
    assert (blas is not None) is can
    assert said in fault
    assert bool(fault) is bool(said)
