"""The inputs in a folder that a model is calibrated with."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import nnapi
from nnapi.cli.batch import list_files
from nnapi.cli.inputs import read_inputs
from nnapi.errors import Mistake
from nnapi.model.operand import Array
from nnapi.vision.pictures import Pixels


@dataclass(frozen=True)
class CalibrationInputs:
    """Samples of a model, read when they are needed; ``step`` is called before each."""

    model: nnapi.Model
    files: Sequence[Sequence[Path]]
    pixels: Pixels
    step: Callable[[str], None] = lambda text: None

    def __len__(self) -> int:
        return len(self.files)

    def __iter__(self) -> Iterator[Sequence[Array]]:
        for paths in self.files:
            self.step(paths[0].name)
            yield [given.array for given in read_inputs(self.model, paths, self.pixels)]

    @property
    def has_pictures(self) -> bool:
        return any(path.suffix not in (".npy", ".wav") for paths in self.files for path in paths)

    def first(self, count: int) -> "CalibrationInputs":
        return replace(self, files=self.files[:count])


def list_samples(model: nnapi.Model, folder: Path) -> list[list[Path]]:
    """Return the files of each sample. A model with one input takes all files in the folder and in its folders, such as
    those of the classes of a data set; a model with more takes a folder for each input."""
    if not folder.is_dir():
        raise Mistake(f"--data is {folder}, must be a folder")
    inner = sorted(each for each in folder.iterdir() if each.is_dir() and not each.name.startswith("."))
    count = len(model.inputs)
    if count == 1:
        return [[file] for each in [folder, *inner] for file in _list_any(each)] or [list_files([folder])]
    if len(inner) != count:
        raise Mistake(f"the model has {count} inputs, so --data needs a folder for each of them, not {len(inner)}")
    columns = [list_files([each]) for each in inner]
    if len({*map(len, columns)}) > 1:
        counts = ", ".join(f"{each.name} has {len(column)}" for each, column in zip(inner, columns, strict=True))
        raise Mistake(f"the folders of --data must have equally many files: {counts}")
    return [list(files) for files in zip(*columns, strict=True)]


def _list_any(folder: Path) -> list[Path]:
    try:
        return list_files([folder])
    except Mistake:  # there are only folders in it
        return []


def choose_evenly(samples: Sequence[list[Path]], limit: int) -> list[list[Path]]:
    """Return at most ``limit`` samples, at equal distances, because neighbors may be of one class."""
    count = min(limit, len(samples))
    return [samples[position * len(samples) // count] for position in range(count)]
