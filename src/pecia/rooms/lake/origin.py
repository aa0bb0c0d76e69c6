"""Where a source's files come from and which of them count, as its owner configured it."""

from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

MEGABYTE = 1_000_000


class _Part(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True)


class FolderOrigin(_Part):
    """A folder of the machine that the workers run on, or one mounted there."""

    kind: Literal["folder"] = "folder"
    folder: str
    follow_links: bool = False
    watch: bool = True
    is_space: bool = False
    """Whether it is a wiki too, whose ignore files leave files out."""
    confined: bool = False
    """Whether somebody else than the owner of the machine named it: then only folders that were
    given to the tenant are read, in a local install as well."""


class GitOrigin(_Part):
    """One ref of a repository."""

    kind: Literal["git"] = "git"
    url: str
    ref: str = "HEAD"
    subfolder: str = ""
    confined: bool = False
    """As for a folder, where the URL is that of a file."""


class S3Origin(_Part):
    """The objects of a bucket below a prefix, at any server that speaks S3."""

    kind: Literal["s3"] = "s3"
    bucket: str
    prefix: str = ""
    endpoint: str
    region: str = "us-east-1"
    path_style: bool = True
    """Whether the bucket stands in the path of an address, or in its host."""


class WebOrigin(_Part):
    """Pages of one site."""

    kind: Literal["web"] = "web"
    url: str
    most_pages: int = Field(default=10_000, ge=1, le=1_000_000)
    depth: int = Field(default=20, ge=0, le=1000)


class UploadOrigin(_Part):
    """Files that people send here. The only ones whose bytes are kept."""

    kind: Literal["upload"] = "upload"
    source_id: str


Origin = Annotated[
    FolderOrigin | GitOrigin | S3Origin | WebOrigin | UploadOrigin, Field(discriminator="kind")
]


class SourceConfig(_Part):
    """What `kernel.source.config` holds for a source that the lake keeps."""

    origin: Origin
    include: tuple[str, ...] = ("**",)
    exclude: tuple[str, ...] = ()
    most_bytes: int = Field(default=200 * MEGABYTE, ge=1, le=10_000 * MEGABYTE)
    schedule: str | None = None
    hybrid: bool = True
    posix: bool = False
    """Whether mode, owner and group decide who may see a file."""
