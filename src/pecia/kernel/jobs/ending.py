"""How a run ends, and what follows from it. Pure: no queue, no clock, no chance."""

from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from pecia.kernel.errors import Collision, InternalError, Json, PeciaError
from pecia.kernel.jobs.job import Retry
from pecia.kernel.jobs.message import bounded
from pecia.kernel.logs import redact

Status: TypeAlias = Literal["succeeded", "failed", "aborted", "todo"]


@dataclass(frozen=True, slots=True)
class Ending:
    """What becomes of the job. `todo` is back into the queue, after a rest."""

    status: Status
    problem: dict[str, Json] | None = None
    rest_s: float = 0
    counts: bool = True


SUCCEEDED = Ending("succeeded")
ABORTED = Ending("aborted")


def later(rest_s: float) -> Ending:
    """Not now, through no fault of the job."""
    return Ending("todo", rest_s=rest_s, counts=False)


def after_failure(error: Exception, retry: Retry, *, failures: int, jitter: float) -> Ending:
    """Once more while attempts are left, unless the error itself says that it is no use."""
    cause = _cause(error)
    problem = problem_of(cause)
    if failures >= retry.attempts or not may_pass(cause):
        return Ending("failed", problem)
    return Ending("todo", problem, rest_s=retry.rest_s(failures, jitter))


def may_pass(error: Exception) -> bool:
    """Whether another attempt may fare better. Nobody knows that of an error that is not ours."""
    if isinstance(error, PeciaError) and not isinstance(error, Collision):
        return error.code.retryable
    return True


def problem_of(error: Exception) -> dict[str, Json]:
    """The reason, for people to see. A foreign error may quote anything, so its text stays out."""
    if isinstance(error, PeciaError):
        return {"code": error.code.name, "message": bounded(redact(error.message))}
    return {"code": InternalError.code.name, "message": f"unexpected {type(error).__name__}"}


def _cause(error: Exception) -> Exception:
    """The first of several that a task group raised together."""
    if isinstance(error, ExceptionGroup):
        together = cast(ExceptionGroup[Exception], error)
        return _cause(together.exceptions[0])
    return error
