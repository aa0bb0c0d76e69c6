"""Input that adds or changes a source, and the resulting configuration. Pure."""

import re
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Literal, cast
from urllib.parse import SplitResult, unquote, urlsplit

from croniter import croniter
from pydantic import Field

from pecia.features.lake.model import (
    FolderOrigin,
    GitOrigin,
    Origin,
    S3Origin,
    SourceConfig,
    SourceId,
    UploadOrigin,
    WebOrigin,
)
from pecia.kernel.corpus.catalog.catalog import validate_source_name
from pecia.kernel.corpus.keyword.query.globs import validate_glob
from pecia.kernel.errors import InvalidFormat, InvalidInput, Json, MissingField
from pecia.kernel.tool.model import Input

ORIGIN_FIELDS = ("folder", "git", "s3", "web")
ORIGIN_OF_FIELD = {"ref": "git", "endpoint": "s3", "region": "s3", "path_style": "s3"}

TrimMode = Literal["per_file", "source_only", "open"]


class AddSource(Input):
    source_id: SourceId
    folder: str | None = Field(default=None, max_length=4000, description="A folder's path.")
    git: str | None = Field(default=None, max_length=2000, description="A repository's URL.")
    ref: str | None = Field(default=None, max_length=500, description="With git: what to read.")
    s3: str | None = Field(default=None, max_length=2000, description="s3://BUCKET/PREFIX.")
    endpoint: str | None = Field(
        default=None, max_length=2000, description="With s3: the server's URL; Amazon's if unset."
    )
    region: str | None = Field(default=None, max_length=100, description="With s3.")
    path_style: bool | None = Field(
        default=None, description="With s3: the bucket in the path. On where endpoint is given."
    )
    web: str | None = Field(default=None, max_length=2000, description="The start page of a site.")
    include: list[str] = Field(default_factory=list[str], max_length=100, description="Globs.")
    exclude: list[str] = Field(default_factory=list[str], max_length=100, description="Globs.")
    most_bytes: int = Field(default=200_000_000, ge=1, le=10_000_000_000)
    schedule: str | None = Field(default=None, max_length=100, description="A cron line, in UTC.")
    watch: bool = Field(default=True, description="With folder: follow changes as they happen.")
    posix: bool = Field(default=False, description="With folder: mode and owner decide who reads.")
    hybrid: bool = Field(default=True, description="Semantic search too.")
    trim_mode: TrimMode = "per_file"
    protocol: Literal["folder", "git", "s3", "web", "upload"] | None = Field(
        default=None, description="Default: by the origin; `upload` for files sent here."
    )


class SetSource(Input):
    source_id: SourceId
    trim_mode: TrimMode | None = None
    enabled: bool | None = None
    include: list[str] | None = Field(default=None, max_length=100)
    exclude: list[str] | None = Field(default=None, max_length=100)
    most_bytes: int | None = Field(default=None, ge=1, le=10_000_000_000)
    schedule: str | None = Field(
        default=None, max_length=100, description="A cron line, in UTC; `never` ends it."
    )
    hybrid: bool | None = None


def build_config(ask: AddSource) -> SourceConfig:
    """The configuration; an error names the invalid field."""
    validate_source_name(ask.source_id, field="source_id")
    schedule = _schedule(ask.schedule)
    if ask.folder is None and (ask.posix or not ask.watch):
        field = "posix" if ask.posix else "watch"
        raise InvalidInput(f'Field "{field}" goes with folder', field=field)
    return SourceConfig(
        origin=_origin(ask),
        include=_globs(ask.include, "include") or ("**",),
        exclude=_globs(ask.exclude, "exclude"),
        most_bytes=ask.most_bytes,
        schedule=schedule,
        hybrid=ask.hybrid,
        posix=ask.posix,
    )


def _kind(ask: AddSource) -> str:
    """The kind of the one origin that was given, with its options checked."""
    given = [it for it in ORIGIN_FIELDS if getattr(ask, it) is not None]
    if len(given) > 1:
        raise InvalidInput(f"a source has one origin, not {' and '.join(given)}", field=given[1])
    kind = given[0] if given else ask.protocol
    if ask.protocol not in (None, kind):
        raise InvalidInput(f"protocol {ask.protocol!r} with {kind!r}", field="protocol")
    for field, place in ORIGIN_OF_FIELD.items():
        if kind != place and getattr(ask, field) is not None:
            raise InvalidInput(f'Field "{field}" goes with {place}', field=field)
    if kind is None:
        raise MissingField(
            f"source {ask.source_id!r} needs an origin: one of folder, git, s3 and web, or the "
            "protocol upload for files that are sent to it",
            field="folder",
            expected=[*ORIGIN_FIELDS, "protocol upload"],
        )
    return kind


def _origin(ask: AddSource) -> Origin:
    kind = _kind(ask)
    match kind, ask:
        case "folder", AddSource(folder=str(folder)):
            return FolderOrigin(folder=_absolute(folder), watch=ask.watch)
        case "git", AddSource(git=str(url)):
            return GitOrigin(url=_repository(url), ref=ask.ref or "HEAD")
        case "s3", AddSource(s3=str(url)):
            return _bucket(ask, url)
        case "web", AddSource(web=str(url)):
            return WebOrigin(url=_site(url))
        case "upload", _:
            return UploadOrigin(source_id=ask.source_id)
        case _:
            raise MissingField(f'Field "{kind}" is required', field=kind)


def _repository(url: str) -> str:
    parts = _split_url(url)
    path = PurePosixPath(unquote(parts.path))
    is_plain = parts.scheme in ("https", "ssh", "file") and parts.password is None
    if not is_plain or ".." in path.parts or "\0" in unquote(url):
        raise InvalidFormat(
            'Field "git" must be a plain URL that begins with https, ssh or file',
            field="git",
            got=_without_login(url),
            expected="https://HOST/PATH, ssh://USER@HOST/PATH or file:///PATH",
            hint="a token is kept sealed: pecia source credential",
        )
    return url


def _site(url: str) -> str:
    parts = _split_url(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
        raise InvalidFormat(
            'Field "web" must be the URL of a page, without a user in it',
            field="web",
            got=_without_login(url),
            expected="https://HOST/PATH",
            hint="a password is kept sealed: pecia source credential",
        )
    return url


def _without_login(url: str) -> str:
    """Errors are logged and audited: they must not contain a secret from a URL."""
    return re.sub(r"(?<=://)[^/?#]*@", "…@", url)[:500]


def _split_url(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")


def _bucket(ask: AddSource, url: str) -> S3Origin:
    found = _BUCKET_URL.fullmatch(url)
    if found is None:
        raise InvalidFormat(
            'Field "s3" must be s3://BUCKET or s3://BUCKET/PREFIX', field="s3", got=url[:500]
        )
    region = ask.region or "us-east-1"
    if not _REGION.fullmatch(region):
        raise InvalidFormat(
            'Field "region" must be a region, such as "eu-central-1"', field="region", got=region
        )
    endpoint = ask.endpoint or f"https://s3.{region}.amazonaws.com"
    if not _ENDPOINT.fullmatch(endpoint):
        raise InvalidFormat(
            'Field "endpoint" must be a URL without a path, such as "https://minio.example.org"',
            field="endpoint",
            got=endpoint[:500],
        )
    path_style = ask.endpoint is not None if ask.path_style is None else ask.path_style
    return S3Origin(
        bucket=found["bucket"],
        prefix=(found["prefix"] or "").strip("/"),
        endpoint=endpoint.rstrip("/"),
        region=region,
        path_style=path_style,
    )


# As Amazon allows them. Other servers allow no more.
_BUCKET_URL = re.compile(
    r"s3://(?P<bucket>[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:/(?P<prefix>[^\0]*))?"
)
_REGION = re.compile(r"[a-z0-9-]{1,100}")
_ENDPOINT = re.compile(r"https?://[^/?#@\s]+/?")


def _absolute(text: str) -> str:
    path = PurePosixPath(text)
    if not path.is_absolute() or ".." in path.parts or "\0" in text:
        raise InvalidFormat(
            'Field "folder" must be an absolute path', field="folder", got=text[:500]
        )
    return str(path)


def _schedule(line: str | None) -> str | None:
    if line is None or croniter.is_valid(line):
        return line
    raise InvalidFormat(
        'Field "schedule" must be a cron line, such as "0 3 * * *"', field="schedule", got=line
    )


def _globs(given: Iterable[str], field: str) -> tuple[str, ...]:
    return tuple(validate_glob(it, field=field) for it in given)


def require_settable_trim(ask: SetSource, config: dict[str, Json]) -> None:
    """A feature that keeps files of several users in one source sets their visibility itself.

    Otherwise one setting would expose its memories or drafts to everybody.
    """
    if ask.trim_mode not in (None, "per_file") and not {"origin", "folder"} & {*config}:
        raise InvalidInput(
            f"source {ask.source_id!r} is managed by its toolset, which sets who sees its files",
            field="trim_mode",
            got=ask.trim_mode,
            expected="per_file",
        )


def update_config(
    config: dict[str, Json], changes: dict[str, Json], source_id: str
) -> SourceConfig:
    """The configuration with the given changes."""
    if "origin" not in config:
        raise InvalidInput(
            f"source {source_id!r} is managed by its toolset, which sets how it is crawled",
            field=next(iter(changes)),
        )
    # Unchanged values are not revalidated: old sources may have globs that are refused now.
    for field in ("include", "exclude"):
        _globs(cast(list[str], changes.get(field, [])), field)
    schedule = changes.get("schedule")
    if isinstance(schedule, str):
        changes = {**changes, "schedule": None if schedule == "never" else _schedule(schedule)}
    return SourceConfig.model_validate({**config, **changes})
