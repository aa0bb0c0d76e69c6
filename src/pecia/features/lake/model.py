"""Where a source's files come from and which of them are indexed, as its owner configured it."""

from typing import Annotated, ClassVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue
from pydantic.functional_validators import AfterValidator


def _without_nul(name: str) -> str:
    # PostgreSQL refuses it too, but does not name the argument.
    if "\0" in name:
        raise ValueError("a name must not contain NUL")
    return name


SourceId = Annotated[str, AfterValidator(_without_nul), Field(min_length=1, max_length=500)]
Key = Annotated[str, AfterValidator(_without_nul), Field(min_length=1, max_length=2000)]


MEGABYTE = 1_000_000


class SourceConfig(BaseModel):
    """`kernel.source.config` of a source that the lake manages."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True)

    origin: dict[str, JsonValue]
    """As the connector of its `kind` reads it."""
    include: tuple[str, ...] = ("**",)
    exclude: tuple[str, ...] = ()
    most_bytes: int = Field(default=200 * MEGABYTE, ge=1, le=10_000 * MEGABYTE)
    schedule: str | None = None
    hybrid: bool = True
    posix: bool = False
    """Whether mode, owner and group decide who may see a file."""

    @property
    def kind(self) -> str:
        return str(self.origin.get("kind"))
