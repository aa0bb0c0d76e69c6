"""What a promise of a reference looks like as data, and how a test says which ones it proves."""

from dataclasses import dataclass

import pytest


@dataclass(frozen=True, slots=True)
class Requirement:
    """One promise: the line of the reference that makes it, and the promise in our words.

    Without `deferred` a test must carry its id. `replaced` says what we do instead, and why;
    the test then proves the replacement.
    """

    line: int
    says: str
    deferred: str = ""
    replaced: str = ""


def requirement(*ids: str) -> pytest.MarkDecorator:
    """Mark a contract test with the ids of the promises it proves."""
    return pytest.mark.requirement(*ids)
