"""Compilations of one dynamic model, by the shapes of a run: made on demand, cached up to a size."""

import math
import time
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from nnapi.contract.shape_cache import ShapeCache, estimate_size
from nnapi.errors import BadDataError, NnapiError, need_value
from nnapi.locks import make_lock
from nnapi.model.dynamic_model import DescribeSized, OtherImportError
from nnapi.model.operand import Array, Shape
from nnapi.printable import pluralize
from nnapi.runtime.behind_runs import do_behind_runs
from nnapi.runtime.compilation import Compilation
from nnapi.runtime.executors.stopwatch import is_faster
from nnapi.runtime.padded_lengths import (
    BUCKET,
    Bind,
    Further,
    Growth,
    Padded,
    Run,
    bucket_for,
    find_growth,
    find_lengths,
    no_further,
    shorten,
    try_padding,
)
from nnapi.runtime.settings import is_tuning
from nnapi.runtime.sized_runs import SizedCache, SizedRuns
from nnapi.trace.log import Log

log = Log("nnapi.ExecutionPlan")
Shapes = tuple[Shape, ...]

CompilePadded = Callable[[Shapes, Shapes, str | None], "tuple[Compilation, Further] | None"]
"""Compiles for padded shapes, the shapes of a run and a device, and returns the further inputs of runs; None if the
model has none."""
SIMILAR = 4
"""Inputs whose numbers of elements differ by at most this factor are assumed to run best on the same device."""
WORTHWHILE = 0.1
"""Seconds of compilations, after which a device that takes dynamic dimensions is preferred to another compilation."""
UNMASKED = 'dynamic="bucket" changes results: no input masks the padding of inputs'


@dataclass
class Specialization:
    """A compilation for some shapes, the seconds it took to make, its number of runs, and its padded runs, if any.
    No run has waited for a challenger."""

    compilation: Compilation
    seconds: float
    runs: int = 0
    padded: Padded | None = None
    is_challenger: bool = False


class Choice(NamedTuple):
    """A run, and the shapes whose compilation its time pays for; None if they need none. Work that follows the run
    prepares a challenger."""

    run: Run
    counted: Shapes | None = None
    sized: SizedRuns | None = None
    work: Callable[[], None] | None = None


class Specializations:
    """Specializations by shapes; several threads may run.

    ``compile`` gets shapes, the name of the only device to ask (None for all), and whether to cache the model. Further
    lengths of a text are not cached, as they seldom recur. ``bucketed`` are declared shapes, 0 for dynamic dimensions,
    whose lengths are padded to multiples of BUCKET.
    """

    def __init__(
        self,
        compile: Callable[[Shapes, str | None, bool], Compilation],
        bucketed: Shapes | None = None,
        compile_padded: CompilePadded = lambda padded, shapes, device: None,
        describe_sized: DescribeSized = lambda shapes: None,
    ) -> None:
        self._compile, self._bucketed, self._compile_padded = compile, bucketed, compile_padded
        self._proven: Padded | None = None
        self._made = ShapeCache[Shapes, Specialization](_estimate)
        self._unpaddable: set[tuple[object, ...]] = set()
        self._sized = SizedCache(describe_sized)
        self._last: Shapes | None = None
        self._compiling = 0.0
        """Seconds of all compilations."""
        self._spent: dict[Shapes, float] = {}
        """Seconds of padded runs and runs with dynamic dimensions by shapes, without the first in a row. Beyond those
        of a compilation, there is one for the shapes."""
        self._challenged: dict[Hashable, int] = {}
        """The capacities of challengers of runs with dynamic dimensions, by growing axes."""
        self._grown: Growth | None = None  # the latest one: to find a growth takes longer than to follow it
        self._spending = make_lock()
        """Held while ``_spent`` changes; ``_lock`` may be held during a compilation."""
        self._lock = make_lock()

    def __len__(self) -> int:
        return len(self._made)

    def at(self, shapes: Shapes) -> Compilation:
        with self._lock:
            return self._find(shapes).compilation

    def run(self, arrays: Sequence[Array]) -> list[Array]:
        """Run on the compilation for the arrays' shapes, on one for a longer length if padding is exact, or on one for
        all sizes."""
        shapes = tuple(array.shape for array in arrays)
        with self._lock:
            choose = self._choose if self._bucketed is None else self._choose_bucket
            choice = choose(shapes, arrays)
            is_repeated, self._last = self._last == shapes, shapes
        if choice.counted is None and choice.sized is None:
            return choice.run(arrays)
        begin = time.perf_counter()
        try:
            results = choice.run(arrays)
        except OtherImportError:
            return self.at(shapes).run(*arrays)
        except NnapiError:
            raise
        except Exception as error:
            if choice.sized is None:
                raise
            with self._lock:
                self._sized.refuse(choice.sized, error)
            return self.at(shapes).run(*arrays)
        seconds = time.perf_counter() - begin
        if choice.work is not None:
            do_behind_runs(choice.work)
        if choice.counted is None or not is_repeated:  # not repeated, as the lengths of a text
            return results
        with self._spending:
            self._spent[choice.counted] = self._spent.get(choice.counted, 0.0) + seconds
        return results

    def clear(self) -> None:
        with self._lock:
            self._made.clear()
            self._spent.clear()
            self._compiling = 0.0
            self._unpaddable.clear()
            self._challenged = {}
            self._sized.clear()
            self._proven = None

    def explain(self) -> str:
        """Explain each specialization: seconds to compile, number of runs, and its plan."""
        with self._lock:
            made, sized = list(self._made.items()), self._sized.explain()
        return "\n\n".join(
            [
                *(
                    f"inputs {', '.join(str(list(shape)) for shape in shapes)}: "
                    f"compiled {'behind runs ' * each.is_challenger}in {each.seconds:.2f} s, "
                    f"{pluralize(each.runs, 'run')}{_describe(each.padded)}\n{each.compilation.explain()}"
                    for shapes, each in made
                ),
                *sized,
            ]
        )

    def _choose(self, shapes: Shapes, arrays: Sequence[Array]) -> Choice:
        if _is_empty(shapes) and (sized := self._sized.find(shapes)):  # its own compilation runs on the CPU only
            sized.runs += 1
            return Choice(sized.run, sized=sized)
        if shapes in self._made:
            return self._use(self._find(shapes), shapes)
        for wide, each in self._made.items():
            length = None if each.padded is None else each.padded.length_of(shapes)
            if length is not None and self._spent.get(shapes, 0.0) <= each.seconds:
                return self._use(self._keep(wide, each), shapes, length)
        sized = self._sized.find(shapes)
        if sized is not None and self._spent.get(shapes, 0.0) > sized.seconds:
            sized = None
        elif sized is None:
            found = self._widen(shapes)
            sized = self._prepare_sized(shapes) if found is None else None
            if found is None and sized is None and (growth := find_growth(self._last, shapes)) is not None:
                found = self._pad_from_last(growth, arrays)
            if found is not None:
                return self._use(found, shapes)
        if sized is None:
            return self._use(self._find(shapes), shapes)
        sized.runs += 1
        return Choice(sized.run, shapes, sized, self._challenge(shapes, arrays, sized))

    def _prepare_sized(self, shapes: Shapes) -> SizedRuns | None:
        """Prepare the model for all sizes if compilations take long; ask all devices, not only that of a similar shape.

        This comes before padding, of which nobody knows whether it is exact.
        """
        if self._compiling <= WORTHWHILE:
            return None
        made = [each.compilation for each in self._made.values()]
        return self._sized.make(shapes, max(made, key=lambda each: len(each.candidates)))

    def _challenge(self, shapes: Shapes, arrays: Sequence[Array], sized: SizedRuns) -> Callable[[], None] | None:
        """Return work that compiles for padded lengths, and uses this compilation if padding is exact and faster."""
        if not is_tuning() or (self._grown is not None and self._is_challenged(self._grown, shapes)):
            return None
        growth = self._grown = find_growth(self._last, shapes)
        if growth is None or self._is_challenged(growth, shapes):
            return None
        known, capacity = self._challenged, bucket_for(growth.length_of(shapes) or 0)
        known[growth.axes] = capacity
        short = [array.copy() for array in shorten(growth, arrays)]

        def work() -> None:
            try:
                found = self._prepare_challenger(growth, short, sized, capacity)
            except Exception as error:
                log.info("no padding to %d: %s: %s", capacity, type(error).__name__, error)
                return
            with self._lock:
                if found is not None and known is self._challenged:  # not cleared meanwhile
                    self._keep(*found)

        return work

    def _is_challenged(self, growth: Growth, shapes: Shapes) -> bool:
        """Return whether shapes of a growth take no challenger: one has been prepared for them, or none pads them."""
        length, known = growth.length_of(shapes), self._challenged.get(growth.axes, 1)
        return length is not None and (length <= known or growth.axes in self._unpaddable)

    def _prepare_challenger(
        self, growth: Growth, inputs: Sequence[Array], sized: SizedRuns, capacity: int
    ) -> tuple[Shapes, Specialization] | None:
        begin, wide, shapes = time.perf_counter(), growth.at(capacity), tuple(array.shape for array in inputs)
        made = self._compile_padded(wide, shapes, None)
        compilation, further = made or (self._compile(wide, None, True), no_further)
        found = Specialization(compilation, time.perf_counter() - begin, is_challenger=True)
        more = tuple(array.shape for array in further(wide))
        found.padded = try_padding(growth, inputs, sized.run, _binds(found, more), capacity, further)
        padded, length = found.padded, growth.length_of(shapes)
        if padded is None or length is None:
            self._unpaddable.add(growth.axes)
            return None
        is_better = is_faster(lambda: padded.run(inputs, length), lambda: sized.run(inputs))
        return ((*wide, *more), found) if is_better else None

    def _use(self, found: Specialization, shapes: Shapes, length: int | None = None) -> Choice:
        """Return the run of a specialization: padded if it is for a longer length than ``length``, that of shapes."""
        found.runs += 1
        padded = found.padded
        if padded is not None and length is None:
            length = padded.length_of(shapes)
        if padded is None or length is None:
            return Choice(lambda arrays: found.compilation.run(*arrays))
        return Choice(lambda arrays: padded.run(arrays, length), shapes)

    def _choose_bucket(self, shapes: Shapes, arrays: Sequence[Array]) -> Choice:
        """Choose the specialization for the next multiple of BUCKET. Whether padding is exact is tried once;
        BadDataError if not."""
        assert self._bucketed is not None
        growth = find_lengths(self._bucketed, shapes)
        length = need_value(growth.length_of(shapes), "the lengths of the inputs differ")
        capacity = -(-length // BUCKET) * BUCKET
        if capacity == length and self._proven is None:
            return self._use(self._find(shapes), shapes)
        found = self._find(growth.at(capacity), is_cached=True)
        if found.padded is None:
            bind = _binds(found)
            if self._proven is None:
                exact = _runs(self._find(shapes))
                tried = try_padding(growth, arrays, exact, bind, capacity)
                self._proven = need_value(tried, f"{UNMASKED} {list(map(list, shapes))} to {capacity}", BadDataError)
            found.padded = self._proven.widen(capacity, bind)
        return self._use(found, shapes)

    def _find(self, shapes: Shapes, like: Compilation | None = None, *, is_cached: bool = False) -> Specialization:
        found = self._made.get(shapes)
        if found is None:
            begin = time.perf_counter()
            similar = like or self._find_similar(shapes)
            compilation = self._compile_like(similar, shapes, is_cached or similar is None)
            found = Specialization(compilation, time.perf_counter() - begin)
            self._compiling += found.seconds
        return self._keep(shapes, found)

    def _compile_like(self, like: Compilation | None, shapes: Shapes, is_cached: bool) -> Compilation:
        """Compile for the single device of ``like``, if it has one that supports the model, else for all devices."""
        if like is not None and len(like.plan.devices) == 1:
            with suppress(NnapiError):
                return self._compile(shapes, like.plan.devices[0], is_cached)
        return self._compile(shapes, None, is_cached)

    def _find_similar(self, shapes: Shapes) -> Compilation | None:
        """Return the latest compilation for shapes with a similar number of elements. Shapes without elements are
        similar to none: their models run on the CPU only."""
        size, known = _count(shapes), [] if _is_empty(shapes) else self._made.items()
        fit = [each for own, each in known if 1 / SIMILAR <= _count(own) / size <= SIMILAR and not _is_empty(own)]
        return fit[-1].compilation if fit else None

    def _pad_from_last(self, growth: Growth, arrays: Sequence[Array]) -> Specialization | None:
        """Return one specialization for all lengths of a growth that began with the last run; None if padding is not
        exact or fails."""
        if growth.axes in self._unpaddable or self._last is None:
            return None
        last, sized = self._made.get(self._last), self._sized.find(self._last)
        if last is not None and last.padded is None:
            like = None if _is_empty(self._last) else last.compilation
            return self._pad(growth, like, _runs_pinned(last), arrays)
        return None if sized is None else self._pad(growth, None, sized.run, arrays)

    def _pad(
        self, growth: Growth, like: Compilation | None, exact: Run, arrays: Sequence[Array]
    ) -> Specialization | None:
        length = growth.length_of(growth.shapes)
        assert length is not None
        if length < 2:
            return None
        capacity = bucket_for(length)
        wide = growth.at(capacity)
        try:
            short = shorten(growth, arrays)
            found, bind, further = self._find_wide(wide, tuple(array.shape for array in short), like)
            found.padded = try_padding(growth, short, exact, bind, capacity, further)
        except OtherImportError:  # the first token may be the only one that needs it
            return None
        except Exception:  # fails for the padded length: compile for the inputs' length
            found = None
        if found is None or found.padded is None:
            self._unpaddable.add(growth.axes)
            return None
        return found

    def _find_wide(self, wide: Shapes, run: Shapes, like: Compilation | None) -> tuple[Specialization, Bind, Further]:
        """Return the specialization for padded shapes, its memory, and its inputs that padding must not change."""
        begin = time.perf_counter()
        device = None if like is None or len(like.plan.devices) != 1 else like.plan.devices[0]
        made = self._compile_padded(wide, run, device)
        if made is None:
            found = self._find(wide, like, is_cached=True)
            return found, _binds(found), no_further
        compilation, further = made
        found = Specialization(compilation, time.perf_counter() - begin)
        self._compiling += found.seconds
        more = tuple(array.shape for array in further(wide))
        key = (*wide, *more)  # the number of inputs differs from that of a run's shapes
        return self._keep(key, found), _binds(found, more), further

    def _widen(self, shapes: Shapes) -> Specialization | None:
        """Return a specialization of twice the capacity for a length that has outgrown padded runs, else None."""
        for each in self._made.values():
            length = None if each.padded is None else each.padded.growth.length_of(shapes)
            if each.padded is None or length is None or length != each.padded.capacity + 1:
                continue
            capacity = 2 * each.padded.capacity
            with suppress(Exception):  # fails for the padded length: compile for the inputs' length
                found, bind, further = self._find_wide(each.padded.growth.at(capacity), shapes, each.compilation)
                found.padded = each.padded.widen(capacity, bind, further)
                return found
        return None

    def _keep(self, shapes: Shapes, found: Specialization) -> Specialization:
        if self._made.get(shapes) is not found:
            self._made.keep(shapes, found)
        return found


def _estimate(shapes: Shapes, made: Specialization) -> int:
    return estimate_size(made.compilation.model, shapes)


def _runs(found: Specialization) -> Run:
    return lambda inputs: found.compilation.run(*inputs)


def _runs_pinned(found: Specialization) -> Run:
    """Return the runs of a plan that no trial replaces, as results are compared with them."""

    def run(inputs: Sequence[Array]) -> list[Array]:
        found.compilation.pin()
        return found.compilation.run(*inputs)

    return run


def _binds(found: Specialization, more: Shapes = ()) -> Bind:
    return lambda shapes: found.compilation.burst().bind(*shapes, *more)


def _is_empty(shapes: Shapes) -> bool:
    return any(0 in shape for shape in shapes)


def _count(shapes: Shapes) -> int:
    return max(sum(map(math.prod, shapes)), 1)


def _describe(padded: Padded | None) -> str:
    return "" if padded is None else f", padded from any length up to {padded.capacity}"
