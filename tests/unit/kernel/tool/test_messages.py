"""A refused argument is told with its field, what was expected and what came."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

import orjson
import pytest
from pydantic import Field

from pecia.kernel.errors import BadArgument, InvalidInput, Json, OutOfRange, PayloadTooLarge
from pecia.kernel.identity.caller import Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import Input, Output, Tool
from pecia.kernel.tool.validate import validate_arguments


class Part(Input):
    at: int = 0


class Ask(Input):
    id: UUID | None = None
    since: datetime | None = None
    limit: int = 1
    few: int = Field(default=1, ge=1, le=9)
    deep: bool = False
    names: list[str] = Field(default_factory=list)
    pages: list[int] = Field(default_factory=list[int])
    part: Part | None = None
    either: int | str = 0
    any: dict[str, Any] = Field(default_factory=dict[str, Any])


async def run(call: Call, ask: Input) -> Output:
    """Do nothing."""
    return Output()


TOOL = Tool("probe", "run", Scope.READ, Ask, Output, run)


class Said(Input):
    said: Annotated[str, Field(max_length=9)] | list[str]


def test_a_text_that_is_too_long_is_not_told_to_be_a_list() -> None:
    tool = Tool("probe", "say", Scope.READ, Said, Output, run)
    with pytest.raises(PayloadTooLarge, match="max 9 chars, got 12") as caught:
        validate_arguments(tool, {"said": "twelve signs"})
    assert "problems" not in caught.value.fields
    with pytest.raises(InvalidInput) as other:
        validate_arguments(tool, {"said": 5})
    assert "array" in str(other.value.fields["problems"])


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
        ({"limit": 5.5}, "INVALID_INPUT", 'Field "limit" must be integer; got number'),
        ({"limit": True}, "INVALID_INPUT", 'Field "limit" must be integer; got boolean'),
        ({"deep": 1.0}, "INVALID_INPUT", 'Field "deep" must be boolean; got number'),
        ({"pages": [1.0, 2.5]}, "INVALID_INPUT", 'Field "pages.1" must be integer; got number'),
        ({"deep": 1}, "INVALID_INPUT", 'Field "deep" must be boolean; got integer'),
        ({"names": "a"}, "INVALID_INPUT", 'Field "names" must be array; got string'),
    ],
)
def test_a_refusal_names_field_expected_and_got(
    given: dict[str, Json], code: str, message: str
) -> None:
    with pytest.raises(BadArgument) as caught:
        validate_arguments(TOOL, given)
    payload = caught.value.payload()
    assert (payload["code"], payload["message"]) == (code, message)
    assert {"field", "expected", "got"} <= set(payload)


@pytest.mark.parametrize(
    ("given", "field", "bounds"),
    [
        ({"limit": 2**64}, "limit", (-(2**63), 2**64 - 1)),
        ({"limit": -(2**63) - 1}, "limit", (-(2**63), 2**64 - 1)),
        ({"limit": 1e300}, "limit", (-(2**63), 2**64 - 1)),
        ({"few": 2**64}, "few", (1, 9)),
        ({"few": 1.8446744073709552e19}, "few", (1, 9)),
        ({"few": int("9" * 1000)}, "few", (1, 9)),
        ({"pages": [1, -(10**30)]}, "pages.1", (-(2**63), 2**64 - 1)),
        ({"part": {"at": 10**30}}, "part.at", (-(2**63), 2**64 - 1)),
        ({"any": {"deep": [{"er": 10**30}]}}, "any.deep.0.er", (-(2**63), 2**64 - 1)),
    ],
)
def test_an_integer_that_no_machine_word_holds_is_out_of_range(
    given: dict[str, Json], field: str, bounds: tuple[int, int]
) -> None:
    with pytest.raises(OutOfRange) as caught:
        validate_arguments(TOOL, given)
    payload = caught.value.payload()
    assert payload["field"] == field
    assert (payload["min"], payload["max"]) == bounds
    # Every interface can send it.
    assert len(orjson.dumps(payload)) < 1000


def test_an_integer_that_large_where_none_is_asked_for_is_of_the_wrong_type() -> None:
    with pytest.raises(BadArgument) as caught:
        validate_arguments(TOOL, {"names": 2**64})
    assert caught.value.message == 'Field "names" must be array; got integer'


def test_a_number_without_a_fraction_is_the_integer_it_says() -> None:
    """As JSON Schema has it: `5.0` is an integer, and some languages write no other."""
    asked: dict[str, Json] = {
        "limit": 5.0,
        "pages": [1, 2.0],
        "part": {"at": -3.0},
        "either": 4.0,
        "any": {"kept": 5.0},
    }
    taken = validate_arguments(TOOL, asked)
    assert (taken.limit, taken.pages, taken.part.at, taken.either) == (5, [1, 2], -3, 4)
    assert [type(it) for it in (taken.limit, taken.pages[1], taken.part.at)] == [int] * 3
    # What is not asked for as an integer stays what it was, and so do the arguments themselves.
    assert isinstance(taken.any["kept"], float)
    assert isinstance(asked["limit"], float)
