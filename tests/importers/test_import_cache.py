"""Files that were imported before: when they are known again, and when they are read anew."""

import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import nnapi
from nnapi.errors import BadDataError
from nnapi.importers import import_cache
from nnapi.importers.import_cache import SETTLED, Origin, make_key
from nnapi.importers.source_files import identify
from nnapi.model.content_hash import hash_content
from nnapi.model.dynamic_model import DynamicModel, Shapes
from nnapi.model.lazy_model import LazyModel
from nnapi.model.model import Lifetime
from nnapi.runtime.planning.explain import as_text
from nnapi.store import records
from nnapi.store.directories import RecordKind
from nnapi.trace import recording
from tests.tflite_writer import write
from tests.variable_cases import running_sum

FILE = Path(__file__).parents[2] / "examples" / "digits" / "digits_float.tflite"
TOKEN = bytes(32)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that was not changed for long enough, and nothing known of any."""
    monkeypatch.setenv("NNAPI_CACHE_DIR", str(tmp_path / "kept"))
    monkeypatch.setattr(import_cache, "SETTLED", 0)
    (tmp_path / "cache").mkdir()
    return Path(shutil.copy(FILE, tmp_path / "model.tflite"))


def keep(path: Path) -> Path:
    """Let the file be known; gives where that is kept."""
    model = nnapi.load(path)
    assert model.origin is not None
    model.origin.keep(model)
    (kept,) = (path.parent / "kept" / "models").iterdir()
    return kept


def is_known(path: Path) -> bool:
    return isinstance(nnapi.load(path), LazyModel)


@pytest.mark.engine
def test_a_file_that_was_compiled_with_a_cache_is_not_read_again(path: Path) -> None:
    driver = pytest.importorskip("nnapi.drivers.xnnpack", reason="ai-edge-litert is not installed").XnnpackDriver
    for devices in ([nnapi.Device(driver())], [nnapi.Device(driver()), nnapi.device("nnapi-reference")]):
        keep_nothing_but_the_ends(path, devices)


def keep_nothing_but_the_ends(path: Path, devices: list[nnapi.Device]) -> None:
    cold, warm = (nnapi.compile(nnapi.load(path), devices, cache=(path.parent / "cache", TOKEN)) for _ in range(2))
    assert isinstance(warm.model, LazyModel)
    image = np.zeros(warm.model.operands[warm.model.inputs[0]].type.dimensions, np.float32)
    with warm.burst() as burst:
        results = [warm.run(image), burst.run(image), cold.run(image)]
    assert not warm.model.is_described
    assert all(np.array_equal(result[0], results[0][0]) for result in results)
    assert as_text(warm.plan) == as_text(cold.plan)
    assert warm.model.is_described


def test_what_is_known_is_what_the_file_says(path: Path) -> None:
    keep(path)
    found, read = nnapi.load(path), nnapi.load(FILE)
    assert isinstance(found, LazyModel)
    assert not isinstance(read, LazyModel)
    assert hash_content(found) == hash_content(read)
    assert (found.inputs, found.outputs) == (read.inputs, read.outputs)
    for index in (*read.inputs, *read.outputs):
        assert found.operands[index] == read.operands[index]
    assert not found.is_described
    assert (found.name, read.name) == ("model", "digits_float")
    assert found.operations == read.operations
    assert as_text(nnapi.compile(found).plan).replace("model", "digits_float") == as_text(nnapi.compile(read).plan)


def rewritten(path: Path) -> None:
    path.write_bytes(path.read_bytes())


def replaced(path: Path) -> None:
    shutil.copy(FILE, path.with_name("new"))
    os.replace(path.with_name("new"), path)


def lengthened(path: Path) -> None:
    with path.open("ab") as file:
        file.write(bytes(16))


def dated_back(path: Path) -> None:
    """Changed, and its old time given to it again."""
    stat = path.stat()
    path.write_bytes(path.read_bytes())
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


@pytest.mark.parametrize("change", [rewritten, replaced, lengthened, dated_back])
def test_a_file_that_was_touched_is_read(change: object, path: Path) -> None:
    keep(path)
    assert is_known(path)
    assert callable(change)
    change(path)
    assert not is_known(path)


def test_a_file_that_became_another_before_it_is_read_is_refused_even_if_it_looks_older(path: Path) -> None:
    constants = (o.value for o in nnapi.load(FILE).operands if o.lifetime is Lifetime.CONSTANT)
    weights = max(constants, key=lambda value: value.nbytes)
    keep(path)
    model = nnapi.load(path)
    assert isinstance(model, LazyModel)
    with path.open("r+b") as file:
        file.write(path.read_bytes().replace(weights.tobytes(), (weights * 2).tobytes()))
    os.utime(path, ns=(0, 0))
    with pytest.raises(BadDataError, match="model.tflite has changed since it was loaded: load it again"):
        len(model.operands)


def test_a_file_that_was_changed_a_moment_ago_is_not_kept(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_cache, "SETTLED", 10**12)
    model = nnapi.load(path)
    assert model.origin is not None
    model.origin.keep(model)
    assert not is_known(path)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"format": 1}', '{"format": 1, "file": [], "digest": "x"}'])
def test_what_is_kept_and_damaged_counts_as_nothing(text: str, path: Path) -> None:
    keep(path).write_text(text)
    assert not is_known(path)
    keep(path)
    key = make_key(identify(nnapi.Memory.from_file(path)))
    found = records.recall_record(RecordKind.MODELS, key, dict)
    assert found is not None
    assert is_known(path)
    for change in ({"file": [1]}, {"digest": "no hex"}, {"ends": [[], [[1]]]}, {"ends": 3}):
        records.keep_record(RecordKind.MODELS, key, found | change)
        assert not is_known(path), change


def test_where_nothing_can_be_kept_nothing_fails(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (path.parent / "kept").write_text("a file where a directory should be")
    caplog.set_level("INFO")
    model = nnapi.load(path)
    assert model.origin is not None
    model.origin.keep(model)
    assert "cannot write a record of" in caplog.text
    assert not is_known(path)


def test_a_user_without_a_home(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NNAPI_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # as where the user has no entry in the system
    model = nnapi.load(path)
    assert model.origin is not None
    model.origin.keep(model)
    assert not is_known(path)
    assert not Path("~").exists()


def test_what_cannot_be_opened_is_said_as_before(path: Path) -> None:
    for missing, kind in ((path.with_name("missing"), FileNotFoundError), (path.parent, IsADirectoryError)):
        with pytest.raises(kind, match=missing.name):
            nnapi.load(missing)


@pytest.fixture
def beside(path: Path) -> tuple[Path, Path]:
    """A model whose constants lie in another file, as PyTorch writes them, and that file."""
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    weights = np.random.default_rng(1).uniform(-1, 1, (8, 64)).astype(np.float32)
    ends = [onnx.helper.make_tensor_value_info(name, 1, shape) for name, shape in (("x", (2, 8)), ("y", (2, 64)))]
    nodes = [onnx.helper.make_node("MatMul", ["x", "w"], ["y"])]
    graph = onnx.helper.make_graph(nodes, "g", ends[:1], ends[1:], [onnx.numpy_helper.from_array(weights, "w")])
    proto = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    model = path.with_name("net.onnx")
    onnx.save(proto, model, save_as_external_data=True, location="net.data", size_threshold=0)
    return model, path.with_name("net.data")


def test_a_model_of_several_files_is_known_while_all_are_the_same(beside: tuple[Path, Path]) -> None:
    model, data = beside
    read, expected = nnapi.load(model), np.ones((2, 8), np.float32) @ np.fromfile(data, np.float32).reshape(8, 64)
    keep(model)
    found = nnapi.load(model)
    assert isinstance(found, LazyModel)
    assert hash_content(found) == hash_content(read)
    np.testing.assert_allclose(
        nnapi.compile(found, "nnapi-reference").run(np.ones((2, 8), np.float32))[0], expected, 1e-5
    )
    assert isinstance(read.origin, Origin)
    assert hash_content(pickle.loads(pickle.dumps(found))) == hash_content(read)
    rewritten(data)
    assert not is_known(model)
    keep(model)
    assert is_known(model)
    data.unlink()
    with pytest.raises(BadDataError, match="which does not exist"):
        nnapi.load(model)


def test_one_of_several_files_that_became_another_is_refused(beside: tuple[Path, Path]) -> None:
    model, data = beside
    whole = nnapi.load(model)
    keep(model)
    late, same = nnapi.load(model), nnapi.load(model)
    rewritten(data)
    assert len(same.operations) == 1  # of the same content
    data.write_bytes(bytes(data.stat().st_size))
    os.utime(data, ns=(0, 0))
    with pytest.raises(BadDataError, match=r"net\.onnx has changed since it was loaded: load it again"):
        len(late.operations)
    with pytest.raises(BadDataError, match=r"net\.data has changed since it was loaded: load it again"):
        whole.need_mapped()


def test_a_trace_shows_nothing_of_a_file_that_is_read_later(path: Path) -> None:
    """It is read while a driver prepares: the model's own phase there would be nested against the rules."""
    keep(path)
    known = nnapi.load(path)
    assert isinstance(known, LazyModel)
    with recording() as recorder:
        assert known.operations
    assert [span for span in recorder.spans() if "Model_finish" in str(span)] == []


def test_other_code_reads_a_file_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may import another model, which no cached compilation fits."""
    keep(path)
    assert is_known(path)
    monkeypatch.setattr(import_cache, "find_last_change", lambda: b"another time")
    assert not is_known(path)


@pytest.mark.parametrize("error", [OSError(24, "Too many open files"), MemoryError()])
def test_a_file_is_read_if_the_sources_cannot_be_looked_at(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> bytes:
        raise error

    monkeypatch.setattr(import_cache, "find_last_change", fail)
    assert len(nnapi.load(FILE).operations) > 0


def test_a_file_is_cached_for_each_set_of_options(path: Path) -> None:
    keep(path)
    assert is_known(path)
    for options in ({"int16_as_float": True}, {"weights": "dynamic-range"}):
        read = nnapi.load(path, **options)
        assert not isinstance(read, LazyModel)
        assert read.origin is not None
        read.origin.keep(read)
        found = nnapi.load(path, **options)
        assert isinstance(found, LazyModel)
        assert hash_content(found) == hash_content(read)
        assert found.operations == read.operations
        assert hash_content(pickle.loads(pickle.dumps(found))) == hash_content(read)
    assert not isinstance(nnapi.load(path.read_bytes()), LazyModel)


def heads(path: Path) -> Path:
    """An .onnx file that reshapes [batch, length, 8] to [batch, length, 2, 4] by a shape that it computes."""
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    make, tail = onnx.helper.make_node, onnx.numpy_helper.from_array(np.array([2, 4]), "tail")
    nodes = [
        make("Shape", ["x"], ["s"], start=0, end=2),
        make("Concat", ["s", "tail"], ["wanted"], axis=0),
        make("Reshape", ["x", "wanted"], ["y"]),
    ]
    ends = {"x": ["batch", "length", 8], "y": ["batch", "length", 2, 4]}
    x, y = (onnx.helper.make_tensor_value_info(name, 1, shape) for name, shape in ends.items())
    graph = onnx.helper.make_graph(nodes, "g", [x], [y], [tail])
    found = path.with_name("heads.onnx")
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), found)
    return found


def load_by_shapes(file: Path) -> Callable[[Shapes], nnapi.Model]:
    model = nnapi.load(file)
    assert isinstance(model, DynamicModel)
    return model.specialize


def load_by_session(file: Path) -> Callable[[Shapes], nnapi.Model]:
    from nnapi.onnx.options import SessionOptions
    from nnapi.onnx.session_file import SessionFile

    return SessionFile(str(file), SessionOptions()).model


def load_by_option(file: Path) -> Callable[[Shapes], nnapi.Model]:
    return lambda shapes: nnapi.load(file, {"x": shapes[0]})


@pytest.mark.parametrize("way", [load_by_shapes, load_by_session, load_by_option])
def test_a_dynamic_file_is_cached_for_each_combination_of_shapes(
    way: Callable[[Path], Callable[[Shapes], nnapi.Model]], path: Path
) -> None:
    file = heads(path)
    for size in (3, 4):
        shapes = ((1, size, 8),)
        read = way(file)(shapes)
        assert not isinstance(read, LazyModel)
        assert read.origin is not None
        read.origin.keep(read)
        found = way(file)(shapes)
        assert isinstance(found, LazyModel)
        assert found.operands[found.inputs[0]].type.dimensions == shapes[0]
        assert hash_content(found) == hash_content(read)
        assert not found.is_described
        assert found.operations == read.operations


def test_a_session_with_other_constants_reads_its_file(path: Path) -> None:
    file, shapes = heads(path), ((1, 3, 8),)
    from nnapi.onnx import OrtValue, SessionOptions
    from nnapi.onnx.session_file import SessionFile

    options = SessionOptions()
    read = load_by_session(file)(shapes)
    assert read.origin is not None
    read.origin.keep(read)
    options.add_initializer("tail", OrtValue.ortvalue_from_numpy(np.array([4, 2])))
    found = SessionFile(str(file), options).model(shapes)
    assert not isinstance(found, LazyModel)
    assert found.operands[found.outputs[0]].type.dimensions == (1, 3, 4, 2)


def test_a_model_is_pickled_as_its_path_while_the_file_is_the_same(path: Path) -> None:
    model = nnapi.load(path)
    assert model.origin is not None
    reduced = model.origin.reduce(model)
    assert reduced is not None
    again, arguments = reduced
    assert arguments == (str(path), hash_content(model))
    assert hash_content(again(*arguments)) == hash_content(model)
    with pytest.raises(BadDataError, match="does not hold the model that was pickled"):
        again(str(path), bytes(32))
    rewritten(path)
    assert model.origin.reduce(model) is None


@pytest.mark.parametrize(("age", "is_kept"), [(SETTLED - 1, False), (SETTLED, True)])
def test_a_file_is_kept_once_its_last_change_is_2_seconds_ago(
    age: int, is_kept: bool, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = nnapi.load(path)
    assert model.origin is not None
    stat = path.stat()
    last = max(stat.st_mtime_ns, stat.st_ctime_ns)
    monkeypatch.setattr(import_cache, "SETTLED", SETTLED)
    monkeypatch.setattr(import_cache, "time", SimpleNamespace(time_ns=lambda: last + age))
    model.origin.keep(model)
    assert is_known(path) == is_kept


def test_a_known_file_keeps_its_states(path: Path) -> None:
    path.write_bytes(write(*running_sum(start=5)))
    keep(path)
    x, found = np.array([1, 2], np.float32), []
    for _ in range(2):
        model = nnapi.load(path)
        assert isinstance(model, LazyModel)
        assert not model.is_described
        assert len(model.states) == 1
        with nnapi.compile(model, ["nnapi-reference"]).burst() as burst:
            found.append([burst.run(x)[0].tolist() for _ in range(2)])
    assert found == [[[6, 7], [7, 9]]] * 2


def test_a_known_file_without_states_is_not_read_for_a_burst(path: Path) -> None:
    keep(path)
    model = nnapi.load(path)
    assert isinstance(model, LazyModel)
    assert model.states == ()
    assert not model.is_described
