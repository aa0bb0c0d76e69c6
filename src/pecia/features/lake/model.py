"""Where a source's files come from and which of them are indexed, as its owner configured it."""

from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.functional_validators import AfterValidator


def _without_nul(name: str) -> str:
    # PostgreSQL refuses it too, but does not name the argument.
    if "\0" in name:
        raise ValueError("a name must not contain NUL")
    return name


SourceId = Annotated[str, AfterValidator(_without_nul), Field(min_length=1, max_length=500)]
Key = Annotated[str, AfterValidator(_without_nul), Field(min_length=1, max_length=2000)]


MEGABYTE = 1_000_000


class _ConfigModel(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True)


class FolderOrigin(_ConfigModel):
    """A folder of the machine that the workers run on, or one mounted there."""

    kind: Literal["folder"] = "folder"
    folder: str
    follow_links: bool = False
    watch: bool = True
    is_space: bool = False
    """Whether it is also a wiki, whose ignore files apply."""
    confined: bool = False
    """Whether somebody other than the owner of the machine named it: then only folders allowed for
    the tenant are read, in a local install as well."""


class GitOrigin(_ConfigModel):
    """One ref of a repository."""

    kind: Literal["git"] = "git"
    url: str
    ref: str = "HEAD"
    subfolder: str = ""
    confined: bool = False
    """As for a folder, if it is a file URL."""


class S3Origin(_ConfigModel):
    """The objects of a bucket below a prefix, at any server that speaks S3."""

    kind: Literal["s3"] = "s3"
    bucket: str
    prefix: str = ""
    endpoint: str
    region: str = "us-east-1"
    path_style: bool = True
    """Path-style addressing: the bucket in the path, not in the host."""


class WebOrigin(_ConfigModel):
    """Pages of one site."""

    kind: Literal["web"] = "web"
    url: str
    most_pages: int = Field(default=10_000, ge=1, le=1_000_000)
    depth: int = Field(default=20, ge=0, le=1000)


class UploadOrigin(_ConfigModel):
    """Files that people send here. The only ones whose bytes are kept."""

    kind: Literal["upload"] = "upload"
    source_id: str


Origin = Annotated[
    FolderOrigin | GitOrigin | S3Origin | WebOrigin | UploadOrigin, Field(discriminator="kind")
]


class SourceConfig(_ConfigModel):
    """`kernel.source.config` of a source that the lake manages."""

    origin: Origin
    include: tuple[str, ...] = ("**",)
    exclude: tuple[str, ...] = ()
    most_bytes: int = Field(default=200 * MEGABYTE, ge=1, le=10_000 * MEGABYTE)
    schedule: str | None = None
    hybrid: bool = True
    posix: bool = False
    """Whether mode, owner and group decide who may see a file."""
