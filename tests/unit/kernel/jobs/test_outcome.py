"""What becomes of a job whose run failed."""

import pytest

from pecia.kernel.errors import Collision, NotFound, Unavailable
from pecia.kernel.jobs import RetryPolicy
from pecia.kernel.jobs.outcome import RunOutcome, decide_after_failure

THREE = RetryPolicy(attempts=3, first_s=2)


def ending(error: Exception, failures: int = 1) -> RunOutcome:
    return decide_after_failure(error, THREE, failures=failures, jitter=1)


@pytest.mark.parametrize("error", [Unavailable("away"), Collision("met"), KeyError("x")])
def test_what_may_pass_is_tried_again_until_the_attempts_are_spent(error: Exception) -> None:
    assert [ending(error, it).status for it in (1, 2, 3)] == ["todo", "todo", "failed"]
    assert [ending(error, it).delay_s for it in (1, 2)] == [2, 4]


def test_an_error_that_says_it_will_not_pass_ends_the_job() -> None:
    assert ending(NotFound("no source 's1'")) == RunOutcome(
        "failed", {"code": "NOT_FOUND", "message": "no source 's1'"}
    )


def test_the_reason_of_a_task_group_is_the_first_of_its_errors() -> None:
    together = ExceptionGroup("two", [ExceptionGroup("one", [NotFound("gone")]), KeyError("x")])
    assert ending(together).problem == {"code": "NOT_FOUND", "message": "gone"}


def test_a_reason_holds_no_secret() -> None:
    said = ending(Unavailable("tried https://bo:hunter2@host with Bearer abc.def"))
    assert "hunter2" not in str(said.problem)
    assert "abc.def" not in str(said.problem)
    unexpected = ending(ValueError("hunter2"))
    assert unexpected.problem == {"code": "INTERNAL_ERROR", "message": "unexpected ValueError"}
