"""The sections of one thread of a trace file, and its time in each layer and phase."""

from collections import defaultdict

from nnapi.trace.labels import Label, Layer, Phase, parse_label
from nnapi.trace.marks import Mark
from nnapi.trace.tree import Node, count, rearrange

CASES = (Phase.WARM_UP, Phase.BENCHMARK)


class Case:
    """The state of the application: warming up, measuring or neither. All threads of a run share it."""

    def __init__(self) -> None:
        self._open: list[Phase] = []

    @property
    def phase(self) -> Phase:
        return self._open[-1] if self._open else Phase.OVERALL

    def begin(self, phase: Phase) -> None:
        self._open.append(phase)

    def end(self, phase: Phase) -> None:
        if phase in self._open:
            self._open.remove(phase)


class Thread:
    def __init__(self, number: int, case: Case, swap: dict[Layer, Layer], ignored: int = 0) -> None:
        """``swap`` renames layers; ``ignored`` sections are open since before the run."""
        self.number = number
        self.root = Node("", None, None, Phase.OVERALL, 0.0, 0.0)
        self.orphans = 0
        self.intervals: defaultdict[tuple[Phase, str], list[tuple[float, float]]] = defaultdict(list)
        self.executions: defaultdict[Phase, int] = defaultdict(int)
        self._open: list[tuple[Node, Label | None]] = []
        self._case, self._swap, self._ignored = case, swap, ignored

    def read(self, mark: Mark) -> None:
        if mark.is_begin:
            self._begin(mark)
        else:
            self._end(mark.seconds)

    @property
    def unfinished(self) -> list[str]:
        """The marks of open sections of NNAPI."""
        return [node.mark for node, label in self._open if label is None or label.layer is not Layer.IGNORED]

    @property
    def open_ignored(self) -> int:
        return self._ignored + sum(label is not None and label.layer is Layer.IGNORED for _, label in self._open)

    def cut(self, seconds: float) -> None:
        while self._open:
            self._end(seconds)

    def _begin(self, mark: Mark) -> None:
        label = parse_label(mark.name)
        if label.is_switch:
            self._end(mark.seconds)
            self._push(Node("", None, Phase.UNSPECIFIED, self._case.phase, mark.seconds, mark.seconds), None)
            self._open[-1][0].is_placeholder = True
        layer = self._swap.get(label.layer, label.layer)
        if layer is Layer.APPLICATION and label.phase in CASES:
            self._case.begin(label.phase)
        if layer is Layer.APPLICATION and label.phase is Phase.EXECUTION:
            self.executions[self._case.phase] += 1
        node = Node(mark.name, layer, label.phase, self._case.phase, mark.seconds, mark.seconds)
        node.is_subtracted = label.is_subtracted
        self._push(node, label)

    def _push(self, node: Node, label: Label | None) -> None:
        (self._open[-1][0] if self._open else self.root).add(node)
        self._open.append((node, label))

    def _end(self, seconds: float) -> None:
        if not self._open:
            if self._ignored:
                self._ignored -= 1
            else:
                self.orphans += 1
            return
        node, label = self._open.pop()
        node.end = seconds
        if label is None:
            return
        if label.layer is Layer.APPLICATION and label.phase in CASES:
            self._case.end(label.phase)
        interval = node.start * 1000.0, seconds * 1000.0
        self.intervals[node.application_phase, label.name].append(interval)


class Totals:
    """The milliseconds of one thread in each layer and phase, and their sections."""

    def __init__(self, thread: Thread) -> None:
        """Rearrange the thread's tree, which must be complete."""
        self.thread = thread
        self.violations = rearrange(thread.root)
        self.milliseconds: defaultdict[tuple[Phase, Layer, Phase], float] = defaultdict(float)
        self.items: defaultdict[tuple[Phase, Layer, Phase], list[tuple[str, float]]] = defaultdict(list)
        for one in count(thread.root):
            node = one.node
            if one.is_counted and node.layer is not None:
                self._add(node, node.layer, node.phase or Phase.UNSPECIFIED, one.milliseconds)
                if one.is_alone:
                    self._add(node, node.layer, Phase.EXECUTION, one.milliseconds)

    def _add(self, node: Node, layer: Layer, phase: Phase, milliseconds: float) -> None:
        key = node.application_phase, layer, phase
        self.milliseconds[key] += milliseconds
        self.items[key].append((node.mark, milliseconds))

    def begins(self, case: Phase, name: str) -> list[float]:
        return [begin for begin, _ in self.thread.intervals.get((case, name), ())]

    def ends(self, case: Phase, name: str) -> list[float]:
        return [end for _, end in self.thread.intervals.get((case, name), ())]
