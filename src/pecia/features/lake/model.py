"""Where a source's files come from and which of them are indexed, as its owner configured it."""

from typing import Annotated, ClassVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError
from pydantic.functional_validators import AfterValidator

from pecia.kernel.errors import InvalidFormat, Json


def _without_nul(name: str) -> str:
    # PostgreSQL refuses it too, but does not name the argument.
    if "\0" in name:
        raise ValueError("a name must not contain NUL")
    return name


SourceId = Annotated[str, AfterValidator(_without_nul), Field(min_length=1, max_length=500)]
Key = Annotated[str, AfterValidator(_without_nul), Field(min_length=1, max_length=2000)]
FolderPath = Annotated[
    str,
    AfterValidator(_without_nul),
    AfterValidator(lambda path: path.rstrip("/")),
    Field(max_length=2000),
]


MEGABYTE = 1_000_000
HIDDEN_GLOBS = (".*", "**/.*", "**/node_modules")
"""What a space leaves out."""
MAX_PART_BYTES = 280_000
"""Of chunks in one answer, as JSON. Clients take events of a mebibyte, and an answer has the text
as data and as content."""


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


def parse_config(config: dict[str, Json]) -> SourceConfig | None:
    """As stored with a source; None where another feature manages it."""
    if "folder" in config:
        # A space: its folder is its whole configuration.
        confined = config.get("confined", False)
        origin: dict[str, Json] = {
            "kind": "space",
            "folder": config["folder"],
            "confined": confined,
        }
        config = {"origin": origin, "exclude": [*HIDDEN_GLOBS]}
    if "origin" not in config:
        return None
    try:
        return SourceConfig.model_validate(config)
    except ValidationError as error:
        raise InvalidFormat(
            f"the source's configuration is invalid: {error}", field="config"
        ) from None
