"""What a job may be, and how long it rests."""

from typing import Annotated, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, SecretStr

from pecia.kernel.jobs import Job, JobArguments, JobCall, NoArguments, RetryPolicy
from pecia.kernel.jobs.job import index_jobs


class About(JobArguments):
    source_id: str


class Named(JobArguments):
    api_key: str


class Typed(JobArguments):
    header: SecretStr


class Marked(JobArguments):
    header: Annotated[str, Field(json_schema_extra={"secret": True})]


class Nested(JobArguments):
    sources: dict[str, list[Typed | None]]


class Loose(BaseModel):
    model_config = ConfigDict(frozen=True)


class Open(BaseModel):
    model_config = ConfigDict(extra="forbid")


async def nothing(call: JobCall, about: Any) -> None:
    """A handler for jobs that are never run."""


@pytest.mark.parametrize("takes", [Named, Typed, Marked, Nested])
def test_a_secret_argument_is_refused(takes: type[BaseModel]) -> None:
    with pytest.raises(TypeError, match="is secret"):
        Job("lake", "crawl", nothing, takes)


@pytest.mark.parametrize("takes", [Loose, Open])
def test_arguments_are_frozen_and_forbid_what_nobody_declared(takes: type[BaseModel]) -> None:
    with pytest.raises(TypeError, match="must be frozen and forbid extra fields"):
        Job("lake", "crawl", nothing, takes)


@pytest.mark.parametrize(
    ("field", "value"),
    [("feature", "La ke"), ("name", "Crawl"), ("name", "x" * 130), ("queue", ""), ("timeout_s", 0)],
)
def test_a_definition_that_cannot_work_is_refused(field: str, value: object) -> None:
    definition: dict[str, Any] = {"feature": "lake", "name": "crawl", field: value}
    with pytest.raises(TypeError, match="job "):
        Job(run=nothing, takes=About, **definition)


def test_a_job_on_a_schedule_takes_no_arguments() -> None:
    with pytest.raises(TypeError, match="cannot take arguments"):
        Job("lake", "crawl", nothing, About, schedule="* * * * *")
    Job("lake", "crawl", nothing, NoArguments, schedule="* * * * *")


def test_two_jobs_cannot_share_a_name() -> None:
    job = Job("lake", "crawl", nothing, About)
    assert index_jobs([job]) == {"lake.crawl": job}
    with pytest.raises(TypeError, match=r"lake\.crawl is defined twice"):
        index_jobs([job, job])


@given(st.integers(1, 10_000), st.floats(0, 1))
@settings(max_examples=50, deadline=None)
def test_a_rest_is_never_longer_than_the_longest_nor_shorter_than_half_the_first(
    failures: int, jitter: float
) -> None:
    retry = RetryPolicy(first_s=2, max_s=600)
    assert 1 <= retry.backoff_s(failures, jitter) <= 600
    assert retry.backoff_s(failures, jitter) <= retry.backoff_s(failures + 1, jitter)
