"""Reading and writing the corpus format."""

import io
import json
import os
import tomllib
import zipfile
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nnapi.testing import corpus as corpus_module
from nnapi.testing.corpus import INDEX, Corpus, CorpusError, entry_of, write
from nnapi.testing.example import (
    ChannelSpec,
    Criterion,
    Example,
    ExampleGraph,
    OperandSource,
    OperandSpec,
    OperationSpec,
)
from tests.testing.testing_cases import add, constant, endless, given, relu, taken, tensor
from tools.size import REPOSITORY


def rich() -> Example:
    """An example, of no meaning, that uses every field of the format."""
    operands = (
        taken(tensor("TENSOR_FLOAT32", 1, 2, name="x")),
        constant("TENSOR_QUANT8_SYMM_PER_CHANNEL", np.ones((2, 3), np.int8), channel_quant=ChannelSpec(0, (0.5, 0.25))),
        constant(
            "TENSOR_INT32",
            np.array([7, 9], np.int32),
            OperandSource.CONSTANT_REFERENCE,
            channel_quant=ChannelSpec(0, (0.125, 2.0), hide=True),
        ),
        constant("BOOL", np.array(True)),
        OperandSpec("TENSOR_FLOAT32", (0,), lifetime=OperandSource.NO_VALUE),
        OperandSpec("SUBGRAPH", lifetime=OperandSource.SUBGRAPH, subgraph=0),
        tensor("TENSOR_FLOAT32", 2, 2),
        given(tensor("TENSOR_QUANT8_ASYMM", 0, 4, scale=0.1, zero_point=3)),
        given(tensor("TENSOR_FLOAT16", 2, is_ignored=True)),
        taken(tensor("TENSOR_FLOAT32", 0)),
    )
    operations = (OperationSpec("IF", (0, 1, 2, 3, 4, 5), (6,)), OperationSpec("RELU", (6,), (7, 8)))
    return Example(
        "rich",
        ExampleGraph(operands, operations, (0, 9), (7, 8), "main"),
        {0: np.array([[1, 2]], np.float32), 9: None},
        {7: np.zeros((0, 4), np.uint8), 8: np.zeros(2, np.float16)},
        add().graphs,
        spec="spec",
        min_feature="V1_3",
        relaxed=True,
        high_ranks=True,
        expect_failure=True,
        multinomial_tolerance=0.025,
        tolerance=Criterion("fp16", 3),
        harness=add().harness,
    )


def plain(value: Any) -> Any:
    """A value in which equal things compare equal, arrays and float32 scales included."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tolist()
    if hasattr(value, "__dataclass_fields__"):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value) if each.name != "file"}
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    return value


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "spec.npz"
    write(path, [rich(), add(), endless()])
    read = list(Corpus(path).examples())
    assert plain(read) == plain([rich(), add(), endless()])
    assert {example.file for example in read} == {"spec.npz"}


def test_equal_arrays_are_stored_once_and_only_those(tmp_path: Path) -> None:
    path = tmp_path / "spec.npz"
    same = np.array([1, 2], np.float32)
    write(path, [add(inputs={0: same}, outputs={3: same.copy()}), add(inputs={0: same.reshape(2, 1)})])
    with np.load(path) as archive:
        # [1, 2] as a vector and as a column, the constant [10, 20], the activation's 0, the second outputs
        assert len(archive.files) == 1 + 5


def test_arrays_cannot_be_written_to(tmp_path: Path) -> None:
    write(tmp_path / "a.npz", [add()])
    (example,) = Corpus(tmp_path / "a.npz").examples()
    with pytest.raises(ValueError, match="read-only"):
        example.inputs[0][0] = 5


def folder(root: Path, *, index: bool) -> Corpus:
    """A corpus of two files in two folders."""
    lines = []
    for file, examples in {"V1_0/add.npz": [add(), add(name="add_2")], "V1_2/relu.npz": [relu()]}.items():
        (root / file).parent.mkdir()
        write(root / file, examples)
        for example in examples:
            entry = entry_of(replace(example, file=file))
            lines.append(json.dumps({each.name: getattr(entry, each.name) for each in fields(entry)}))
    if index:
        (root / INDEX).write_text("\n".join(lines) + "\n")
    return Corpus(root)


@pytest.mark.parametrize("index", [True, False])
def test_a_folder_is_read_with_and_without_an_index(tmp_path: Path, index: bool) -> None:
    corpus = folder(tmp_path, index=index)
    assert [(entry.file, entry.name) for entry in corpus.entries] == [
        ("V1_0/add.npz", "add"),
        ("V1_0/add.npz", "add_2"),
        ("V1_2/relu.npz", "relu"),
    ]
    assert corpus.entries[0].ops == ("ADD",)
    assert corpus.entries[2].types == ("TENSOR_QUANT8_ASYMM",)
    assert [example.name for example in corpus.examples()] == ["add", "add_2", "relu"]


def test_a_filter_keeps_files_closed_that_it_does_not_want(tmp_path: Path) -> None:
    corpus = folder(tmp_path, index=True)
    (tmp_path / "V1_2/relu.npz").write_bytes(b"broken")
    assert [example.name for example in corpus.examples(lambda entry: entry.name == "add_2")] == ["add_2"]
    with pytest.raises(CorpusError, match=r"relu\.npz"):
        list(corpus.examples())


def test_examples_are_read_one_at_a_time(tmp_path: Path) -> None:
    corpus = folder(tmp_path, index=True)
    (tmp_path / "V1_2/relu.npz").unlink()
    assert next(corpus.examples()).name == "add"


def test_a_path_that_is_no_corpus_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="nowhere: no such file or folder"):
        Corpus(tmp_path / "nowhere")
    with pytest.raises(CorpusError, match=r"neither index\.jsonl nor any \.npz file"):
        _ = Corpus(tmp_path).entries


@pytest.mark.parametrize("line", ["{", "[]", '{"file": "a.npz"}'])
def test_a_broken_index_is_refused_by_name(tmp_path: Path, line: str) -> None:
    (tmp_path / INDEX).write_text(line)
    with pytest.raises(CorpusError, match=r"index\.jsonl"):
        _ = Corpus(tmp_path).entries


@pytest.mark.parametrize("examples", [b"not json", b'[{"name": "x"}]', b'{"name": 1}', b"[3]"])
def test_a_file_that_breaks_the_format_is_refused_by_name(tmp_path: Path, examples: bytes) -> None:
    np.savez(tmp_path / "bad.npz", examples=np.frombuffer(examples, np.uint8))
    with pytest.raises(CorpusError, match=r"bad\.npz"):
        list(Corpus(tmp_path / "bad.npz").examples())


def test_a_file_without_examples_is_refused_by_name(tmp_path: Path) -> None:
    np.savez(tmp_path / "bad.npz", a0=np.zeros(1))
    with pytest.raises(CorpusError, match=r"bad\.npz"):
        list(Corpus(tmp_path / "bad.npz").examples())


@pytest.mark.parametrize("file", ["V1_3/while_fib.npz", "V1_0/lsh_projection.npz", "V1_3/conv2d_quant8_signed.npz"])
def test_published_files_survive_being_written_again(corpus: Corpus, tmp_path: Path, file: str) -> None:
    original = list(corpus.load(file))
    write(tmp_path / "copy.npz", original)
    assert original
    assert plain(list(Corpus(tmp_path / "copy.npz").examples())) == plain(original)


@pytest.mark.slow
def test_the_published_index_agrees_with_its_files(corpus: Corpus) -> None:
    entries = corpus.select(lambda entry: entry.file.startswith("V1_3/w"))
    assert len(corpus.entries) == 9374
    assert [entry_of(example) for example in corpus.examples(lambda entry: entry in entries)] == entries


def test_missing_public_examples_name_their_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus_module, "PUBLISHED", tmp_path / "nnapi_conformance")
    with pytest.raises(CorpusError, match=r"run pip install \./conformance$"):
        corpus_module.open_published()


def test_the_version_of_the_examples_is_the_one_of_the_project() -> None:
    project, examples = (
        tomllib.loads((REPOSITORY / folder / "pyproject.toml").read_text())["project"] for folder in ("", "conformance")
    )
    assert project["optional-dependencies"]["conformance"] == [f"{examples['name']}=={examples['version']}"]
    assert project["version"] == examples["version"]


# Files that would take much more memory than they have bytes


def zipped(path: Path, **sizes: int) -> Path:
    """A .npz file of arrays of zeros with so many bytes."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, size in sizes.items():
            header = np.lib.format.header_data_from_array_1_0(np.zeros(0, np.uint8)) | {"shape": (size,)}
            start = io.BytesIO()
            np.lib.format.write_array_header_1_0(start, header)
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                member.write(start.getvalue())
                for _ in range(size >> 20):
                    member.write(bytes(1 << 20))
    return path


@pytest.fixture
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus_module, "PLAUSIBLE", 4 << 20)
    monkeypatch.setattr(corpus_module, "MOST_TEXT", 2 << 20)


def test_arrays_that_are_implausibly_large_are_not_read(
    tmp_path: Path, small_limits: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(np, "load", lambda *_: pytest.fail("it is read"))
    path = zipped(tmp_path / "bomb.npz", examples=1 << 20, a0=4 << 20)
    with pytest.raises(
        CorpusError, match=r"bomb.npz: its arrays have \d+ bytes, a file of \d+ bytes may have 4194304$"
    ):
        list(Corpus(path).examples())
    path = zipped(tmp_path / "text.npz", examples=3 << 20)
    with pytest.raises(CorpusError, match=r"text.npz: its examples are described in \d+ bytes, at most 2097152 are"):
        list(Corpus(path).examples())


def test_a_large_file_may_have_large_arrays(tmp_path: Path, small_limits: None) -> None:
    """Up to two hundred times its size."""
    path = tmp_path / "large.npz"
    noise = np.random.default_rng(0).integers(0, 256, 5 << 20, np.uint8)
    example = rich()
    write(path, [replace(example, outputs={7: noise, 8: np.zeros(8 << 20, np.uint8)})])
    (found,) = Corpus(path).examples()
    assert [array.size for array in found.outputs.values()] == [5 << 20, 8 << 20]


def test_an_index_is_bounded(tmp_path: Path, small_limits: None) -> None:
    with (tmp_path / INDEX).open("wb") as file:
        file.truncate((2 << 20) + 1)
    with pytest.raises(CorpusError, match=f"{INDEX}: it has 2097153 bytes, at most 2097152 are possible"):
        Corpus(tmp_path).entries  # noqa: B018


@pytest.mark.parametrize("is_index", [True, False])
def test_deep_json_is_refused(tmp_path: Path, is_index: bool) -> None:
    deep = "[" * 100_000
    if is_index:
        (tmp_path / INDEX).write_text(deep)
    else:
        np.savez(tmp_path / "deep.npz", examples=np.frombuffer(deep.encode(), np.uint8))
    with pytest.raises(CorpusError, match="does not describe an example|not a file of examples"):
        list(Corpus(tmp_path).examples())


def test_a_fifo_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.npz")
    with pytest.raises(CorpusError, match="fifo.npz: it is not a regular file"):
        list(Corpus(tmp_path).examples())


def test_a_file_of_other_arrays(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    np.savez(tmp_path / "numbers.npz", examples=np.zeros(3))
    for name in ("other", "numbers"):
        with pytest.raises(CorpusError, match=rf"{name}\.npz: not a file of examples, as NNAPI_RECORD writes it, or"):
            list(Corpus(tmp_path / f"{name}.npz").examples())
