"""An error names an argument as its caller wrote it, and shows the value that is wrong."""

from datetime import datetime
from typing import Annotated

import pytest
from pydantic import Field, ValidationError

from pecia.kernel.errors import BadArgument
from pecia.kernel.tool.argument_errors import argument_error
from pecia.kernel.tool.model import Input

ShortText = Annotated[str, Field(max_length=5)]


class Part(Input):
    name: ShortText


class Asked(Input):
    said: ShortText | list[ShortText] | None = None
    parts: tuple[Part, ...] = ()
    one: Part | ShortText | None = None
    at: datetime | None = None


def refused(**arguments: object) -> BadArgument:
    with pytest.raises(ValidationError) as caught:
        Asked.model_validate(arguments)
    return argument_error(caught.value, Asked)


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"said": "too long"}, "said"),
        ({"said": ["ok", "too long"]}, "said"),
        ({"parts": [{"name": "ok"}, {"name": "too long"}]}, "parts.1.name"),
        ({"one": {"name": "too long"}}, "one.name"),
        ({"said": "ok", "more": 1}, "more"),
    ],
)
def test_branches_of_a_union_are_not_named(arguments: dict[str, object], field: str) -> None:
    error = refused(**arguments)
    assert error.fields["field"] == field
    assert f'"{field}"' in error.message


def test_a_text_that_is_no_time_is_shown() -> None:
    with pytest.raises(ValidationError) as caught:
        Asked.model_validate({"at": "yesterday"}, strict=True)
    error = argument_error(caught.value, Asked)
    assert "'yesterday'" in error.message
    assert error.fields["got"] == "yesterday"
