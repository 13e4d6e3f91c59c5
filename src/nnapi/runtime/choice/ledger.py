"""The ledger of a trial: the evidence that is recorded, for this process and later ones."""

from collections.abc import Sequence

from nnapi.runtime.choice.challenger import Challenger
from nnapi.runtime.choice.knowledge import keep
from nnapi.runtime.choice.paired_times import Standing
from nnapi.runtime.choice.question import Question
from nnapi.runtime.choice.record import MEASURED, PREDICTED, Comparison, Record
from nnapi.runtime.planning.plan import Plan


class Ledger:
    def __init__(self, question: Question, record: Record | None) -> None:
        """``record`` is that of an earlier process."""
        self._question, self._key = question, question.key
        self._known = {each.description: each for each in (record.comparisons if record else ())}
        self._before: list[Comparison] = []
        """The plans that were active, compared with the one that is."""

    @property
    def excluded(self) -> set[str]:
        """The identities of plans that were wrong or failed."""
        return {name for name, known in self._known.items() if known.reason}

    def recall_pairs(self, plan: Plan) -> Sequence[float]:
        """Return the log ratios of a plan's pairs in earlier processes."""
        known = self._known.get(plan.identity)
        return known.logs if known else ()

    def forget_pairs(self) -> None:
        self._known = {name: each for name, each in self._known.items() if each.reason}
        self._before = []

    def change_over(self, before: Plan, leader: Challenger) -> None:
        """Note that a plan took over from the one ``before``, although the trial continues."""
        self._before = compare_with(leader, before, self._before)

    def keep_progress(self, active: Plan, challengers: Sequence[Challenger]) -> None:
        """Record the pairs so far, so that a later process continues."""
        comparisons = [*self._before, *(each.describe() for each in challengers)]
        if any(each.logs for each in comparisons):
            keep(self._question, self._key, Record.of(PREDICTED, active, None, comparisons))

    def conclude(
        self, active: Plan, chosen: Plan, seconds: float, challengers: Sequence[Challenger], best: Challenger | None
    ) -> Record:
        """Record the result of a trial: the ``chosen`` plan, and the ``seconds`` of its runs."""
        comparisons = [*self._before, *(each.describe() for each in challengers if each is not best)]
        if best:
            comparisons = compare_with(best, active, comparisons)
        tried = {each.description for each in comparisons}
        comparisons += [each for name, each in self._known.items() if each.reason and name not in tried]
        record = Record.of(MEASURED, chosen, seconds, comparisons)
        keep(self._question, self._key, record)
        return record


def compare_with(best: Challenger, before: Plan, others: Sequence[Comparison]) -> list[Comparison]:
    """Return the winner's comparisons: measured with the plan before, derived from that with the others."""
    gain = best.evidence.log_gain
    derived = [each._replace(logs=[log - gain for log in each.logs], standing=str(Standing.SLOWER)) for each in others]
    return [
        Comparison(before.identity, before.predicted, [-log for log in best.evidence.logs], Standing.SLOWER),
        *derived,
    ]
