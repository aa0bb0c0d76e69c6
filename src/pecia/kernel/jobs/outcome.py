"""The outcome of a run. Pure: no queue, no clock, no randomness."""

from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from pecia.kernel.errors import Collision, InternalError, Json, PeciaError
from pecia.kernel.jobs.job import RetryPolicy
from pecia.kernel.jobs.message import truncate_message
from pecia.kernel.logs import redact

RunStatus: TypeAlias = Literal["succeeded", "failed", "aborted", "todo"]


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """The next state of the job. `todo` is back into the queue, after a backoff."""

    status: RunStatus
    problem: dict[str, Json] | None = None
    delay_s: float = 0
    counts: bool = True


SUCCEEDED = RunOutcome("succeeded")
ABORTED = RunOutcome("aborted")


def reschedule(rest_s: float) -> RunOutcome:
    """Postponed, through no fault of the job: not counted as an attempt."""
    return RunOutcome("todo", delay_s=rest_s, counts=False)


def decide_after_failure(
    error: Exception, retry: RetryPolicy, *, failures: int, jitter: float
) -> RunOutcome:
    """Retry while attempts are left, unless the error is not retryable."""
    cause = _cause(error)
    problem = describe_problem(cause)
    if failures >= retry.attempts or not is_retryable(cause):
        return RunOutcome("failed", problem)
    return RunOutcome("todo", problem, delay_s=retry.backoff_s(failures, jitter))


def is_retryable(error: Exception) -> bool:
    """Whether a retry may succeed. For a foreign error that is unknown, so yes."""
    if isinstance(error, PeciaError) and not isinstance(error, Collision):
        return error.code.retryable
    return True


def describe_problem(error: Exception) -> dict[str, Json]:
    """The reason, for people to see. A foreign error may quote anything, so its text stays out."""
    if isinstance(error, PeciaError):
        return {"code": error.code.name, "message": truncate_message(redact(error.message))}
    return {"code": InternalError.code.name, "message": f"unexpected {type(error).__name__}"}


def _cause(error: Exception) -> Exception:
    """The first of several that a task group raised together."""
    if isinstance(error, ExceptionGroup):
        together = cast(ExceptionGroup[Exception], error)
        return _cause(together.exceptions[0])
    return error
