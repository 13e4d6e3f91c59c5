"""The sections of one thread of a trace file, and its time in each layer and phase."""

from collections import defaultdict

from nnapi.trace.labels import Layer, Phase, parse_label
from nnapi.trace.marks import Mark
from nnapi.trace.tree import SectionNode, counted_sections, rearrange

CASES = (Phase.WARM_UP, Phase.BENCHMARK)


class Thread:
    """One thread. After :meth:`finish`, ``items`` has the marks of each layer and phase, with milliseconds."""

    def __init__(self, number: int, cases: list[Phase], swap: dict[Layer, Layer], ignored: int = 0) -> None:
        """``cases`` are the open warm-ups and benchmarks on all threads of the run. ``swap`` renames layers.
        ``ignored`` is the number of sections that are open since before the run."""
        self.number = number
        self.root = SectionNode("", None, None, Phase.OVERALL, 0.0, 0.0)
        self.orphans = 0
        self.intervals: defaultdict[tuple[Phase, str], list[tuple[float, float]]] = defaultdict(list)
        self.executions: defaultdict[Phase, int] = defaultdict(int)
        self.items: defaultdict[tuple[Phase, Layer | None, Phase], list[tuple[str, float]]] = defaultdict(list)
        self._open: list[SectionNode] = []
        self._cases, self._swap, self._ignored = cases, swap, ignored

    def read(self, mark: Mark) -> None:
        if mark.is_begin:
            self._begin(mark)
        else:
            self._end(mark.seconds)

    @property
    def unfinished(self) -> list[str]:
        """Return the marks of NNAPI's open sections."""
        return [node.mark for node in self._open if node.layer is not Layer.IGNORED]

    @property
    def open_ignored(self) -> int:
        return self._ignored + sum(node.layer is Layer.IGNORED for node in self._open)

    @property
    def _case(self) -> Phase:
        return self._cases[-1] if self._cases else Phase.OVERALL

    def finish(self, seconds: float) -> list[str]:
        """End the open sections and fill ``items``; return messages on wrongly nested sections."""
        while self._open:
            self._end(seconds)
        violations = rearrange(self.root)
        for node, milliseconds, is_alone in counted_sections(self.root):
            for phase in (node.phase or Phase.UNSPECIFIED, *([Phase.EXECUTION] if is_alone else ())):
                self.items[node.application_phase, node.layer, phase].append((node.mark, milliseconds))
        return violations

    def _begin(self, mark: Mark) -> None:
        label = parse_label(mark.name)
        if label.is_switch:
            self._end(mark.seconds)
            self._push(
                SectionNode("", None, Phase.UNSPECIFIED, self._case, mark.seconds, mark.seconds, is_placeholder=True)
            )
        layer = self._swap.get(label.layer, label.layer)
        if layer is Layer.APPLICATION and label.phase in CASES:
            self._cases.append(label.phase)
        if layer is Layer.APPLICATION and label.phase is Phase.EXECUTION:
            self.executions[self._case] += 1
        node = SectionNode(mark.name, layer, label.phase, self._case, mark.seconds, mark.seconds)
        node.is_subtracted = label.is_subtracted
        self._push(node)

    def _push(self, node: SectionNode) -> None:
        self._open.append((self._open[-1] if self._open else self.root).add(node))

    def _end(self, seconds: float) -> None:
        if not self._open:
            if self._ignored:
                self._ignored -= 1
            else:
                self.orphans += 1
            return
        node = self._open.pop()
        node.end = seconds
        if node.is_placeholder:
            return
        if node.layer is Layer.APPLICATION and node.own_phase in self._cases:
            self._cases.remove(node.own_phase)
        interval = node.start * 1000.0, seconds * 1000.0
        self.intervals[node.application_phase, parse_label(node.mark).name].append(interval)
