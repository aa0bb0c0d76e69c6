"""A job as data: background work of a feature. Knows neither the queue nor the database."""

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, ValidationError

from pecia.kernel.errors import Json
from pecia.kernel.jobs.call import JobCall

MAX_NAME_CHARS = 128

_WORD = re.compile(r"[a-z][a-z0-9_]*")
_SECRET_NAME = re.compile(
    r"(^|_)(password|passwd|secret|token|authorization|cookie|credentials?|api_?key)$"
)


class JobArguments(BaseModel):
    """What a job is about: ids and keys. They are stored, so nothing in them is secret."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True)


class NoArguments(JobArguments):
    """For a job without arguments."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Attempts in all, and exponential backoff with a limit."""

    attempts: int = 5
    first_s: float = 2
    max_s: float = 600

    def backoff_s(self, failures: int, jitter: float) -> float:
        """Seconds after so many failures. `jitter`, 0 to 1, spreads jobs that failed together."""
        whole = min(self.max_s, self.first_s * 2 ** min(failures - 1, 40))
        return whole * (1 + jitter) / 2


@dataclass(frozen=True, slots=True)
class Job:
    """One kind of work of one feature.

    A worker may die at any point and another starts over, so `run` must be idempotent; it writes
    through `call.tx()`, which fences off a run that was taken over by another worker.
    `key` names the work that a set of arguments means: the same work waits in the queue once and
    runs once at a time. Where the user matters, it belongs in the arguments and the key.
    `schedule` is a cron line, in UTC; of ticks missed while no worker ran, the last is run.
    """

    feature: str
    name: str
    run: Callable[[JobCall, Any], Awaitable[None]]
    takes: type[BaseModel]
    queue: str = "default"
    priority: int = 0
    retry: RetryPolicy = RetryPolicy()
    key: Callable[[Any], str] | None = None
    schedule: str | None = None
    timeout_s: float = 600

    def __post_init__(self) -> None:
        if wrong := next(_faults(self), None):
            raise TypeError(f"job {self.full_name}: {wrong}")

    @property
    def full_name(self) -> str:
        return f"{self.feature}.{self.name}"


def index_jobs(jobs: Iterable[Job]) -> dict[str, Job]:
    """Every job by its full name, which must be unique."""
    found: dict[str, Job] = {}
    for job in jobs:
        if job.full_name in found:
            raise TypeError(f"job {job.full_name} is defined twice")
        found[job.full_name] = job
    return found


def _faults(job: Job) -> Iterator[str]:
    """The problems of a definition; none if it is valid."""
    if not all(_WORD.fullmatch(it) for it in (job.feature, job.name, job.queue)):
        yield "feature, name and queue must be lower-case words"
    if len(job.full_name) > MAX_NAME_CHARS:
        yield f"its name is longer than {MAX_NAME_CHARS} characters"
    if job.timeout_s <= 0 or job.retry.attempts < 1:
        yield "it needs time to run, and at least one attempt"
    if not job.takes.model_config.get("frozen") or job.takes.model_config.get("extra") != "forbid":
        yield f"{job.takes.__name__} must be frozen and forbid extra fields"
    for path in _secrets_in(job.takes.model_json_schema(mode="serialization")):
        yield f"the argument {path} is secret, and arguments are stored: pass a name of it instead"
    if job.schedule is not None and not _needs_nothing(job.takes):
        yield "a job on a schedule cannot take arguments"


def _needs_nothing(takes: type[BaseModel]) -> bool:
    try:
        takes()
    except ValidationError:
        return False
    return True


def _secrets_in(schema: Json) -> Iterator[str]:
    """The properties of a JSON Schema, at any depth, that are marked or named as secrets."""
    if isinstance(schema, list):
        for it in schema:
            yield from _secrets_in(it)
    if not isinstance(schema, dict):
        return
    properties = schema.get("properties")
    if isinstance(properties, dict):
        yield from (name for name, it in properties.items() if _is_secret(name, it))
    for it in schema.values():
        yield from _secrets_in(it)


def _is_secret(name: str, schema: Json) -> bool:
    if _SECRET_NAME.search(name):
        return True
    marks = {"writeOnly": True, "format": "password", "secret": True}
    return any(_carries(schema, mark, value) for mark, value in marks.items())


def _carries(schema: Json, mark: str, value: Json) -> bool:
    """Whether a mark is on a property or on what it is made of: a list, a choice."""
    if isinstance(schema, list):
        return any(_carries(it, mark, value) for it in schema)
    if not isinstance(schema, dict):
        return False
    return schema.get(mark) == value or any(_carries(it, mark, value) for it in schema.values())
