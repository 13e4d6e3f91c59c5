"""The data flow of a graph, for nodes of any kind."""

from collections.abc import Sequence
from typing import NamedTuple

from nnapi.rewriting.dataflow import Dataflow, find_makers, find_readers, select_needed


class Plain(NamedTuple):
    inputs: Sequence[str | None]
    outputs: Sequence[str]


FIRST = Plain(["x", "x"], ["a", "b"])
UNREAD = Plain(["a"], ["c"])
LAST = Plain(["b", None], ["y"])
NODES = [FIRST, UNREAD, LAST]


def test_makers_are_those_of_each_output() -> None:
    assert find_makers(NODES) == {"a": FIRST, "b": FIRST, "c": UNREAD, "y": LAST}


def test_a_node_that_reads_a_value_twice_is_one_reader() -> None:
    readers = find_readers(NODES)
    assert dict(readers) == {"x": [FIRST], "a": [UNREAD], "b": [LAST], None: [LAST]}
    assert readers["y"] == []


def test_needed_nodes_keep_their_order() -> None:
    assert select_needed(NODES, ["y"]) == [FIRST, LAST]
    assert select_needed(NODES, ["c", "y"]) == NODES
    assert select_needed(NODES, []) == []


def test_a_node_may_read_more_than_its_inputs() -> None:
    assert select_needed(NODES, ["y"], lambda node: ["c"] if node is LAST else node.inputs) == NODES


def test_the_only_reader_may_be_a_result() -> None:
    flow = Dataflow(NODES, ["y", "c", "c"])
    assert flow.find_only_maker("y") is LAST
    assert flow.find_only_maker("a") is FIRST
    assert flow.find_only_maker("c") is None  # read twice
    assert flow.find_only_maker("x") is None  # made by no node
