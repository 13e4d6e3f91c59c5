"""The sections of one thread as a tree, rearranged for the statistics.

Sections that are not nested like the layers are copied to their proper parents, and subtracted from the sections around
them. As in Android's statistics, they come last, because the order affects the last digits of sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from nnapi.errors import need_value
from nnapi.trace.labels import EXECUTION_PHASES, SUBPHASES, Layer, Phase

CALLS = {
    Layer.APPLICATION: {Layer.RUNTIME},
    Layer.RUNTIME: {Layer.IPC, Layer.DRIVER, Layer.CPU},
    Layer.IPC: {Layer.DRIVER},
}


@dataclass(eq=False, slots=True)
class SectionNode:
    """A section; the root of a thread has neither layer nor phase. Times are in seconds."""

    mark: str
    layer: Layer | None
    own_phase: Phase | None
    application_phase: Phase
    start: float
    end: float
    parent: SectionNode | None = None
    children: list[SectionNode] = field(default_factory=list)
    is_subtracted: bool = False
    is_placeholder: bool = False
    """Stands for a section that another one replaced, until the replaced section ends."""

    @property
    def is_root(self) -> bool:
        return self.parent is None

    @property
    def around(self) -> SectionNode:
        return need_value(self.parent, "the root lies in no section")

    @property
    def phase(self) -> Phase | None:
        node = self
        while node.own_phase is Phase.UNSPECIFIED and node.parent is not None:
            node = node.parent
        return node.own_phase

    @property
    def milliseconds(self) -> float:
        return (self.end - self.start) * 1000.0

    def add(self, node: SectionNode) -> SectionNode:
        node.parent = self
        self.children.append(node)
        return node

    @property
    def is_detail(self) -> bool:
        """Return whether the section only details the one around it, and so does not count."""
        parent = self.parent
        if parent is None or parent.is_root or self.layer is not parent.layer or self.is_subtracted:
            return False
        phase, around = self.phase, parent.phase
        if phase in SUBPHASES.get(around or Phase.UNSPECIFIED, ()):
            return False
        return not (phase is Phase.INITIALIZATION and around is not Phase.INITIALIZATION)


def preorder(root: SectionNode) -> list[SectionNode]:
    """Return the nodes below the root, parents first."""
    found, waiting = [], [root]
    while waiting:
        node = waiting.pop()
        found.append(node)
        waiting += reversed(node.children)
    return found[1:]


def rearrange(root: SectionNode) -> list[str]:
    """Rearrange a complete tree for counting. Return messages on wrongly nested sections."""
    _dissolve(root, lambda node: node.layer is Layer.IGNORED)
    _dissolve(root, lambda node: node.is_placeholder)
    for node in [node for node in preorder(root) if _is_misplaced(node)]:
        _copy_upwards(node)
    counted = [node for node in preorder(root) if not node.is_detail and not node.is_subtracted]
    for node in [node for node in counted if _is_wrongly_in_application(node)]:
        _insert_application(node)
    return list(_violations(root))


def _dissolve(root: SectionNode, is_gone: Callable[[SectionNode], bool]) -> None:
    """Remove nodes; their children are appended to the parent's."""
    for node in [root, *preorder(root)]:
        if is_gone(node) and not node.is_root:
            continue
        kept, waiting = list[SectionNode](), [node]
        while waiting:
            gone = waiting.pop()
            kept += [child for child in gone.children if not is_gone(child)]
            waiting += [child for child in reversed(gone.children) if is_gone(child)]
        node.children = kept
        for child in kept:
            child.parent = node


def _is_wrongly_in_application(node: SectionNode) -> bool:
    """Return whether the application's section names a phase that this section's phase does not belong to."""
    around = node.around
    return (
        around.layer is Layer.APPLICATION
        and node.layer in (Layer.RUNTIME, Layer.IPC)
        and around.phase not in (node.phase, Phase.OVERALL)
        and node.phase not in (Phase.EXECUTION, *EXECUTION_PHASES)
    )


def _is_misplaced(node: SectionNode) -> bool:
    is_started_late = node.phase is Phase.INITIALIZATION and node.around.phase is not Phase.INITIALIZATION
    return node.is_subtracted or is_started_late or _is_wrongly_in_application(node)


def _copy_upwards(node: SectionNode) -> None:
    target = node.around
    if node.is_subtracted:
        while target.parent is not None and (target.layer is not node.layer or target.is_detail):
            target = target.parent
    elif node.phase is Phase.INITIALIZATION:
        while target.parent is not None:
            target = target.parent
    else:
        target = target.parent or target
    target = target.parent or target
    target.add(SectionNode(node.mark, node.layer, node.phase, node.application_phase, node.start, node.end))
    node.is_subtracted = True


def _insert_application(node: SectionNode) -> None:
    """Insert an application section around one of the runtime, with the same phase and length."""
    parent = node.around
    between = SectionNode(node.mark, Layer.APPLICATION, node.phase, node.application_phase, node.start, node.start)
    between.end = node.start + _time_left(node, subtractions(node)) / 1000.0
    between.parent = parent
    parent.children[parent.children.index(node)] = between
    between.add(node)


def subtractions(root: SectionNode) -> dict[SectionNode, float]:
    """Return, by node, the milliseconds to subtract from the section around it."""
    taken: dict[SectionNode, float] = {}
    for node in reversed(preorder(root)):
        if node.is_detail:
            total = 0.0
            for child in node.children:
                total += taken[child]
            taken[node] = total
        else:
            taken[node] = node.milliseconds if node.is_subtracted else 0.0
    return taken


def _time_left(node: SectionNode, taken: dict[SectionNode, float]) -> float:
    time = node.milliseconds
    for child in node.children:
        time -= taken[child]
    return time


def counted_sections(root: SectionNode) -> Iterator[tuple[SectionNode, float, bool]]:
    """Yield the sections of a rearranged tree that count, in the order of addition. Each comes with its milliseconds,
    and whether it is a phase of an execution that no section of its layer covers."""
    taken = subtractions(root)
    executing: dict[Layer | None, int] = {}
    waiting: list[tuple[SectionNode, bool]] = [(child, True) for child in reversed(root.children)]
    while waiting:
        node, is_entered = waiting.pop()
        if not is_entered:
            executing[node.layer] -= 1
            continue
        if not node.is_detail and not node.is_subtracted:
            is_alone = node.phase in EXECUTION_PHASES and not executing.get(node.layer)
            yield node, _time_left(node, taken), is_alone
        if node.phase is Phase.EXECUTION:
            executing[node.layer] = executing.get(node.layer, 0) + 1
            waiting.append((node, False))
        waiting += [(child, True) for child in reversed(node.children)]


def _violations(root: SectionNode) -> Iterator[str]:
    for node in preorder(root):
        around = node.parent
        if around is None or node.is_subtracted:
            continue
        if not _may_follow(around.phase, node.phase):
            yield f"{node.mark} is nested in {around.mark}, a phase that it does not belong to"
        is_called = around.layer is None or node.layer in (around.layer, Layer.UTILITY)
        if not is_called and node.layer not in CALLS.get(around.layer or Layer.OTHER, ()):
            yield f"{node.mark} is nested in {around.mark}, a layer that does not call its own"


def _may_follow(around: Phase | None, phase: Phase | None) -> bool:
    if around is None or phase in (around, Phase.UNSPECIFIED, Phase.INITIALIZATION):
        return True
    parts = SUBPHASES.get(around, ())
    return phase in parts or (phase in EXECUTION_PHASES and Phase.EXECUTION in parts)
