"""Operations of one owner are put together, as far as those of others allow."""

import random

import pytest

from nnapi import Builder, Model, tensor
from nnapi.model.model import OperationCall
from nnapi.runtime.planning.grouping import group_by_owner
from nnapi.runtime.verdicts.submodel import count_reads, make_submodel
from tests.rows import each_row


def web(rng: random.Random, count: int) -> Model:
    """Sums and magnitudes of whatever was computed before, all of it given."""
    b = Builder("web")
    values = [b.input(tensor("float32", (2,)))]
    for _ in range(count):
        x, y = rng.choice(values[-5:]), rng.choice(values)
        values.append(b.add(x, y) if rng.random() < 0.6 else b.abs(x))
    b.output(*values[1:])
    return b.finish()


def possible(waiting: list[OperationCall], done: set[int], owners: dict[int, int], owner: int) -> list[OperationCall]:
    known, taken = set(done), []
    for call in waiting:
        if owners[call.number] == owner and known.issuperset(call.inputs):
            taken.append(call)
            known.update(call.outputs)
    return taken


@each_row("seed", range(40))
def test_the_owner_that_gets_furthest_goes_on(seed: int) -> None:
    rng = random.Random(seed)
    model = web(rng, 20)
    owners = {call.number: rng.randrange(3) for call in model.operations}
    waiting, computed = list(model.operations), {i for call in model.operations for i in call.outputs}
    done = set(range(len(model.operands))) - computed
    for owner, calls in group_by_owner(model, dict(owners)):
        most = max(len(possible(waiting, done, owners, other)) for other in range(3))
        assert calls == possible(waiting, done, owners, owner)  # type: ignore[arg-type]
        assert len(calls) == most
        done.update(index for call in calls for index in call.outputs)
        waiting = [call for call in waiting if call not in calls]
    assert not waiting


@pytest.mark.slow
def test_a_long_chain_of_changing_owners_is_put_in_order() -> None:
    b = Builder("chain")
    x = b.input(tensor("float32", (2,)))
    for _ in range(10_000):
        x = b.relu(x)
    b.output(x)
    model = b.finish()
    groups = group_by_owner(model, {call.number: call.number % 2 for call in model.operations})
    assert [calls[0].number for _, calls in groups] == list(range(10_000))
    reads = count_reads(model.operations)
    _, inputs, outputs = make_submodel(model, groups[-1][1], reads)
    assert (inputs, outputs) == (groups[-2][1][0].outputs, model.outputs)
