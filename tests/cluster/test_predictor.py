"""The callable that others send to their workers: what travels, what is made where it arrives, what a batch becomes."""

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nnapi import Builder, Model, OperationCode, Predictor, device, export, tensor
from nnapi.cluster import predictor
from nnapi.cluster.predictor import name_outputs
from nnapi.compiling import compile
from nnapi.errors import BadDataError, OpFailedError
from nnapi.runtime.compilation import Compilation

REFERENCE = "nnapi-reference"


@pytest.fixture(autouse=True)
def nothing_ready() -> Iterator[None]:
    predictor._ready.clear()
    yield
    predictor._ready.clear()


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The options of every compilation that predictors make."""
    made: list[dict[str, Any]] = []

    def note(model: Model, *given: Any, **options: Any) -> Compilation:
        made.append(options)
        return compile(model, *given, **options)

    monkeypatch.setattr(predictor, "compile", note)
    return made


def negating(width: int = 3) -> Model:
    b = Builder("negating")
    b.output(b.neg(b.input(tensor("float32", (1, width)), name="x")))
    return b.finish()


def adding() -> Model:
    b = Builder("adding")
    x, y = b.input(tensor("float32", (1, 2)), name="x"), b.input(tensor("float32", (1, 2)), name="y")
    b.output(b.add(x, y))
    b.output(b.mul(x, y))
    return b.finish()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "negating.tflite"
    export(negating(), path)
    return path


def from_path(file: Path) -> Predictor:
    return Predictor(file, REFERENCE)


def from_bytes(file: Path) -> Predictor:
    return Predictor(file.read_bytes(), REFERENCE)


def from_model(file: Path) -> Predictor:
    return Predictor(negating(), device(REFERENCE))


WAYS = [from_path, from_bytes, from_model]


@pytest.mark.parametrize("make", WAYS)
def test_a_copy_gives_what_the_model_gives(make: Callable[[Path], Predictor], file: Path) -> None:
    copy = pickle.loads(pickle.dumps(make(file)))
    predictor._ready.clear()
    np.testing.assert_array_equal(copy(np.ones((1, 3), np.float32))[0], [[-1, -1, -1]])


@pytest.mark.parametrize("make", WAYS)
def test_it_is_compiled_at_the_first_call_and_once(
    make: Callable[[Path], Predictor], file: Path, compiled: list[dict[str, Any]]
) -> None:
    first = make(file)
    second = pickle.loads(pickle.dumps(first))
    assert compiled == []
    for each in (first, second, first):
        each(np.ones((1, 3), np.float32))
    assert len(compiled) == 1


def test_other_settings_are_another_compilation(file: Path, compiled: list[dict[str, Any]]) -> None:
    for threads in (1, 2):
        Predictor(file, REFERENCE, threads=threads)(np.ones((1, 3), np.float32))
    assert [options["threads"] for options in compiled] == [1, 2]


def test_threads_have_limits(file: Path) -> None:
    with pytest.raises(BadDataError, match="threads is 50000, must be from 1 to 1024"):
        Predictor(file, REFERENCE, threads=50000)


def test_a_process_keeps_a_few_models(compiled: list[dict[str, Any]]) -> None:
    for width in (*range(1, 7), 6, 1):
        Predictor(negating(width), REFERENCE)(np.ones((1, width), np.float32))
    assert len(compiled) == 7
    assert len(predictor._ready) == predictor.MOST_READY


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")  # of os.fork
def test_a_forked_child_compiles_anew(file: Path, compiled: list[dict[str, Any]]) -> None:
    predict = from_path(file)
    predict(np.ones((1, 3), np.float32))
    with predictor._lock:  # as another thread might have it when the process is forked
        child = os.fork()
        if not child:
            signal.alarm(60)
            with suppress(Exception):
                predict(np.ones((1, 3), np.float32))
            os._exit(len(compiled))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2


def test_a_path_travels_without_the_file(file: Path) -> None:
    assert file.read_bytes() not in pickle.dumps(from_path(file))
    assert file.read_bytes() in pickle.dumps(from_bytes(file))


def test_a_relative_path_is_the_same_elsewhere(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    predict = Predictor(file.name, REFERENCE)
    monkeypatch.chdir("/")
    assert predict(np.ones((1, 3), np.float32))[0].shape == (1, 3)


def test_another_file_under_the_path_is_refused(file: Path) -> None:
    predict = from_path(file)
    export(negating(4), file)
    with pytest.raises(BadDataError, match="is another file here than where the predictor was made"):
        predict(np.ones((1, 4), np.float32))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(OpFailedError, match=r"the predictor's model .*none.tflite is not here"):
        Predictor(tmp_path / "none.tflite")


def test_a_batch_becomes_a_batch(file: Path) -> None:
    rows = np.arange(12, dtype=np.float32).reshape(4, 3)
    found = from_path(file)({"x": rows, "id": ["a", "b", "c", "d"]})
    assert list(found) == ["id", "neg_0"]
    assert found["id"] == ["a", "b", "c", "d"]
    np.testing.assert_array_equal(found["neg_0"], -rows)


def test_the_only_column_needs_no_name(file: Path) -> None:
    rows = np.ones((2, 1, 3), np.float32)
    np.testing.assert_array_equal(from_path(file)({"image": rows})["neg_0"], -rows[:, 0])


def test_columns_may_be_named() -> None:
    ones = np.ones((5, 2), np.float32)
    found = Predictor(adding(), REFERENCE, columns=["left", "right"], requests=2)({"right": 3 * ones, "left": ones})
    total, product = found.values()
    np.testing.assert_array_equal(total, 4 * ones)
    np.testing.assert_array_equal(product, 3 * ones)


def test_outputs_without_names_of_their_own_are_numbered() -> None:
    model = Model("unnamed")
    for _ in range(3):
        model.add_operand(tensor("float32", (1, 2)))
    model.add_operation(OperationCode.NEG, [0], [1])
    model.add_operation(OperationCode.ABS, [0], [2])
    model.identify_inputs_and_outputs([0], [1, 2])
    model.finish()
    assert name_outputs(model) == ["output0", "output1"]


def test_a_missing_column_is_named() -> None:
    with pytest.raises(BadDataError, match="no column y for adding; there are: x, z"):
        Predictor(adding(), REFERENCE)({"x": np.ones((1, 2)), "z": np.ones((1, 2))})


def test_as_many_columns_as_inputs_are_named() -> None:
    with pytest.raises(BadDataError, match=r"adding takes 2 columns, not \('x',\)"):
        Predictor(adding(), REFERENCE, columns=["x"])({"x": np.ones((1, 2))})


def test_columns_must_be_of_one_length() -> None:
    with pytest.raises(BadDataError, match=r"the columns x, y have \[1, 2\] rows"):
        Predictor(adding(), REFERENCE)({"x": np.ones((1, 2)), "y": np.ones((2, 2))})


def test_a_row_that_does_not_fit_is_named(file: Path) -> None:
    with pytest.raises(BadDataError, match="^input 0: x .* stores float32, got an array of float64"):
        from_path(file)({"x": np.ones((2, 3))})


def test_rows_of_several_shapes_stay_apart() -> None:
    b = Builder("open")
    b.output(b.neg(b.input(tensor("float32", (0, 2)), name="x")))
    rows = [np.ones((2, 2), np.float32), np.ones((3, 2), np.float32)]
    found = Predictor(b.finish(), REFERENCE)({"x": rows})["neg_0"]
    assert [row.shape for row in found] == [(2, 2), (3, 2)]


def test_iterators_become_iterators(file: Path) -> None:
    results = from_path(file).run_many(np.full((1, 3), number, np.float32) for number in range(5))
    assert [outputs[0][0, 0] for outputs in results] == [0, -1, -2, -3, -4]


@pytest.mark.parametrize(("given", "found"), [("~/kept", "home/kept"), (True, True), (None, None)])
def test_a_cache_is_the_nodes_own(
    given: str | bool | None,
    found: str | bool | None,
    file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    compiled: list[dict[str, Any]],
) -> None:
    predict = pickle.loads(pickle.dumps(Predictor(file, REFERENCE, cache=given)))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    predict(np.ones((1, 3), np.float32))
    assert [options["cache"] for options in compiled] == [str(tmp_path / found) if isinstance(found, str) else found]


def test_it_works_in_another_process(file: Path) -> None:
    code = "import pickle, sys, numpy; print(pickle.load(sys.stdin.buffer)(numpy.ones((1, 3), 'f'))[0].tolist())"
    done = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(from_path(file)), capture_output=True)
    assert done.stdout == b"[[-1.0, -1.0, -1.0]]\n", done.stderr
