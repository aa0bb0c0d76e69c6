"""What a source and a file may be called when somebody asks for one. Pure."""

from typing import Annotated

from pydantic import Field
from pydantic.functional_validators import AfterValidator


def _without_nul(name: str) -> str:
    # The store refuses it too, and does not say in which of the arguments it was.
    if "\0" in name:
        raise ValueError("no name holds the sign NUL")
    return name


SourceId = Annotated[str, AfterValidator(_without_nul), Field(min_length=1, max_length=500)]
Key = Annotated[str, AfterValidator(_without_nul), Field(min_length=1, max_length=2000)]
