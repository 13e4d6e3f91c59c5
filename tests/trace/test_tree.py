"""Trees of sections."""

from nnapi.trace.labels import Layer, Phase
from nnapi.trace.tree import SectionNode, counted_sections, preorder, rearrange


def node(name: str, layer: Layer | None, phase: Phase | None, *children: SectionNode, end: float = 1.0) -> SectionNode:
    made = SectionNode(name, layer, phase, Phase.OVERALL, 0.0, end)
    for child in children:
        made.add(child)
    return made


def root(*children: SectionNode) -> SectionNode:
    return node("", None, None, *children)


def ignored(name: str, *children: SectionNode) -> SectionNode:
    return node(name, Layer.IGNORED, Phase.UNSPECIFIED, *children)


def leaf(name: str) -> SectionNode:
    return node(name, Layer.RUNTIME, Phase.EXECUTION)


def test_preorder() -> None:
    tree = root(node("a", Layer.RUNTIME, Phase.EXECUTION, leaf("b")), leaf("c"))
    assert [one.mark for one in preorder(tree)] == ["a", "b", "c"]


def test_what_is_ignored_leaves_its_children_at_the_end() -> None:
    tree = root(
        ignored("x", leaf("c"), ignored("y", leaf("e")), leaf("d")), leaf("a"), ignored("z", leaf("f")), leaf("b")
    )
    assert rearrange(tree) == []
    assert [one.mark for one in tree.children] == ["a", "b", "c", "d", "e", "f"]
    assert all(one.parent is tree for one in tree.children)


def test_deep_trees() -> None:
    """Damaged traces nest as deep as they are long."""
    tree = place = root()
    for number in range(20_000):
        place = place.add(ignored(str(number)) if number % 2 else leaf(str(number)))
    rearrange(tree)
    assert len(preorder(tree)) == 10_000
    assert len(list(counted_sections(tree))) == 1


def test_violations_are_told() -> None:
    inner = node("inner", Layer.APPLICATION, Phase.PREPARATION)
    (message,) = rearrange(root(node("outer", Layer.RUNTIME, Phase.PREPARATION, inner)))
    assert message == "inner is nested in outer, a layer that does not call its own"
    inner = node("inner", Layer.RUNTIME, Phase.TERMINATION)
    (message,) = rearrange(root(node("outer", Layer.RUNTIME, Phase.PREPARATION, inner)))
    assert message == "inner is nested in outer, a phase that it does not belong to"


def test_unspecified_phases_are_those_around() -> None:
    inner = node("inner", Layer.UTILITY, Phase.UNSPECIFIED)
    root(node("outer", Layer.RUNTIME, Phase.COMPILATION, inner))
    assert inner.phase is Phase.COMPILATION
