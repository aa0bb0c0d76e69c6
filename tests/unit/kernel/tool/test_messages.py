"""A refused argument is told with its field, what was expected and what came."""

from datetime import datetime
from uuid import UUID

import pytest
from pydantic import Field

from pecia.kernel.errors import BadArgument, Json
from pecia.kernel.identity.caller import Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import Input, Output, Tool
from pecia.kernel.tool.validate import validated


class Ask(Input):
    id: UUID | None = None
    since: datetime | None = None
    limit: int = 1
    deep: bool = False
    names: list[str] = Field(default_factory=list)


async def run(call: Call, ask: Ask) -> Output:
    """Do nothing."""
    return Output()


TOOL = Tool("probe", "run", Scope.READ, Ask, Output, run)


@pytest.mark.parametrize(
    ("given", "code", "message"),
    [
        ({"id": "1234"}, "INVALID_FORMAT", "Field \"id\" must be a UUID; got '1234'"),
        (
            {"since": "yesterday"},
            "INVALID_FORMAT",
            "Field \"since\" must be a time as in 2026-01-31T12:00:00Z (RFC 3339); got 'yesterday'",
        ),
        ({"limit": "5"}, "INVALID_INPUT", 'Field "limit" must be integer; got string'),
        ({"deep": 1}, "INVALID_INPUT", 'Field "deep" must be boolean; got integer'),
        ({"names": "a"}, "INVALID_INPUT", 'Field "names" must be array; got string'),
    ],
)
def test_a_refusal_names_field_expected_and_got(
    given: dict[str, Json], code: str, message: str
) -> None:
    with pytest.raises(BadArgument) as caught:
        validated(TOOL, given)
    payload = caught.value.payload()
    assert (payload["code"], payload["message"]) == (code, message)
    assert {"field", "expected", "got"} <= set(payload)
