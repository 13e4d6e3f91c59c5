"""From a question to a prepared plan: recall or predict it, prepare it, record and cache it.

| knowledge | compilation | afterwards |
|---|---|---|
| Cached | restore | trials if runs take much longer or shorter than recorded |
| Measured | prepare the recorded plan | the same |
| Predicted | prepare the recorded plan | trials |
| Unknown | predict, prepare, record | trials |
| Fixed | prepare | nothing |
"""

from nnapi.errors import BadDataError, NnapiError, UnexpectedNullError
from nnapi.runtime.choice.knowledge import Cached, Fixed, Knowledge, keep_plan, recall_plan
from nnapi.runtime.choice.question import Question
from nnapi.runtime.choice.spare import Spare
from nnapi.runtime.executors.prepared_partitions import ClaimedError, Guard, NotRestoredError, ReadyPlan, prepare_plan
from nnapi.trace.log import Log

log = Log("nnapi.CompilationBuilder")


def prepare(question: Question, spare: Spare) -> tuple[ReadyPlan, Knowledge]:
    """Prepare the plan for a question. The spare repeats a failed preparation or run."""
    if spare.has_everything:
        return spare.prepare(), Fixed("everything is for the CPU")
    try:
        return _decide(question, spare.guard)
    except (BadDataError, UnexpectedNullError):
        raise
    except NnapiError as error:
        if not spare.can_replace():
            raise
        log.warning("compilation failed, falling back to the CPU: %s", error)
        return spare.prepare(after_failure=True), Fixed("the compilation failed")


def _decide(question: Question, guard: Guard) -> tuple[ReadyPlan, Knowledge]:
    """Prepare the plan that is known, else the predicted one. If a device fails to prepare operations, predict without
    giving it these."""
    knowledge, plan = recall_plan(question)
    prediction, claims = None, list[ClaimedError]()
    while True:
        if plan is None:
            from nnapi.runtime.choice.predict import predict_plan  # on demand: known models need no prediction

            prediction = predict_plan(question, claims)
            plan = prediction.plan
        options = question.options._replace(threads=plan.threads)
        try:
            is_cached = prediction is None and isinstance(knowledge, Cached)
            ready = prepare_plan(plan, question.devices, options, question.cache, guard, is_cached=is_cached)
            break
        except NotRestoredError:
            knowledge, plan = recall_plan(question)  # without the entry
        except ClaimedError as claim:
            log.warning("%s" if prediction else "%s: planning the model again", claim)
            claims += [claim] if prediction else []
            plan = None
    return ready, knowledge if is_cached else keep_plan(question, knowledge, ready, prediction)
