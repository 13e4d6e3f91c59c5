"""Results of a run that are inputs of the next."""

import numpy as np
import pytest

from nnapi.model.operand import Array
from nnapi.runtime import feedback
from nnapi.runtime.feedback import BindCopies, Feedback, Pairs, bind_copies_in_python

BINDERS: list[BindCopies] = [bind_copies_in_python]
if feedback.bind_copies is not bind_copies_in_python:
    BINDERS.append(feedback.bind_copies)


@pytest.mark.parametrize("bind", BINDERS)
def test_bound_copies_read_the_memory_of_each_call(bind: BindCopies) -> None:
    sources = [np.arange(size, dtype=np.uint8) for size in (1, 0, 300)]
    targets = [np.full_like(source, 255) for source in sources]
    copy = bind(tuple((target.data, source.data) for target, source in zip(targets, sources, strict=True)))
    assert all((target == 255).all() for target in targets)
    for change in (0, 7):
        for source in sources:
            source += change
        copy()
        assert [target.tolist() for target in targets] == [source.tolist() for source in sources]


@pytest.mark.skipif(len(BINDERS) == 1, reason="pip found no C compiler")
@pytest.mark.parametrize(
    "pairs",
    [
        [],
        (1,),
        ((memoryview(bytearray(2)),),),
        ((memoryview(bytearray(2)), bytearray(2)),),
        ((memoryview(bytearray(2)), memoryview(bytearray(3))),),
        ((memoryview(bytes(2)), memoryview(bytearray(2))),),
        ((memoryview(bytearray(4))[::2], memoryview(bytearray(2))),),
    ],
)
def test_memory_that_cannot_be_copied_is_refused(pairs: Pairs) -> None:
    with pytest.raises(TypeError, match="pairs of contiguous memoryviews of the same size"):
        feedback.bind_copies(pairs)


@pytest.mark.parametrize("bind", BINDERS)
def test_the_last_results_are_copied_whether_the_list_is_the_same_or_not(
    bind: BindCopies, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feedback, "bind_copies", bind)
    targets: list[Array] = [np.zeros((2, 2), np.float32), np.zeros(3, np.int8)]
    results: list[Array] = [np.zeros(1, np.float32), np.ones((2, 2), np.float32), np.ones(3, np.int8)]
    back = Feedback(targets)
    for number, given in enumerate((results, results, [*results], results, results)):
        for array in results:
            array[...] = number
        others = back.take(given)
        assert len(others) == 1
        assert others[0] is results[0]
        assert [target.ravel().tolist() for target in targets] == [[number] * 4, [number] * 3]
    assert back.seen is results


def test_strided_results_are_copied_too() -> None:
    target = np.zeros(2, np.int8)
    results: list[Array] = [np.arange(4, dtype=np.int8)[::2]]
    back = Feedback([target])
    for _ in range(2):
        results[0][...] += 1
        assert back.take(results) == []
        assert target.tolist() == results[0].tolist()
    assert back.seen is None
