"""The connector registry: one row per kind of source, and what its connector gets when it opens.

`add_source`, its flags on the command line, the format of credentials, crawls, watches and the
reference all follow from the rows.
"""

from abc import abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from ssl import SSLContext
from types import MappingProxyType
from typing import Any, ClassVar
from uuid import UUID

from pydantic import BaseModel, ConfigDict, ValidationError

from pecia.kernel.corpus.connector import Connector
from pecia.kernel.errors import Conflict, InvalidFormat, InvalidInput, Json, Unprocessable
from pecia.kernel.settings.load import Settings
from pecia.kernel.store.store import Store


class SourceOrigin(BaseModel):
    """Where the files of one source are, as stored beside the name of its kind."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True)

    @property
    def is_watched(self) -> bool:
        """Whether changes are followed as they happen, if the kind can."""
        return True


class LocalOrigin(SourceOrigin):
    """An origin that can name a path of the machine that the workers run on."""

    confined: bool = False
    """Whether somebody other than the owner of the machine named it: then only folders allowed for
    the tenant are read, in a local install as well."""

    @property
    def local_path(self) -> PurePosixPath | None:
        """What it would read of this machine, if anything. A local install asks its owner first."""
        return None


class OriginOptions(BaseModel):
    """What a caller gives to add a source of one kind. Its fields are arguments of `add_source` and
    flags of `pecia source add`; every one has a default. The one called as the kind is its address,
    and chooses it."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True)

    @abstractmethod
    def build_origin(self, source_id: str) -> SourceOrigin:
        """The origin, or an error that names the invalid field."""


@dataclass(frozen=True, slots=True)
class SourceLogin:
    """A name and its secret. `session` goes with temporary keys."""

    user: str
    secret: str = field(repr=False)
    session: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class CredentialFormat:
    """How the credential of a kind is written. `parse` returns None for what is not."""

    shape: str
    parse: Callable[[str], SourceLogin | None]


@dataclass(frozen=True, slots=True)
class TenantAllowlist:
    """What the sources of one tenant may open beyond the public web: folders as real paths, and
    trusted hosts. Below `space_roots` administrators may create spaces. With `is_local` it is the
    tenant of a local install, whose owner may name any folder of the machine."""

    folders: tuple[Path, ...] = ()
    hosts: tuple[str, ...] = ()
    is_local: bool = False
    space_roots: tuple[Path, ...] = ()
    closed: tuple[Path, ...] = ()
    """Never read by any source: this installation's own folders."""


@dataclass(frozen=True, slots=True)
class FetchOptions:
    """How sources are fetched over the network, by the settings."""

    authorities: Path | None = None
    """A PEM file of certificate authorities beside the system's."""
    tls: SSLContext | None = None
    """With them. None: the system's."""
    timeout_s: float = 30
    pause_s: float = 0.1


@dataclass(frozen=True, slots=True)
class ConnectorContext:
    """What a connector gets beside its origin."""

    tenant_id: UUID
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    most_bytes: int
    allowlist: TenantAllowlist
    fetch: FetchOptions
    settings: Settings
    store: Store
    login: SourceLogin | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class ConnectorKind:
    """One row of the registry."""

    name: str
    summary: str
    """What its sources are, for the reference."""
    origin: type[SourceOrigin]
    open: Callable[[Any, ConnectorContext], AbstractAsyncContextManager[Connector]]
    """The connector of an origin, with what its tenant may open now."""
    options: type[OriginOptions] | None = None
    """None: no tool adds such a source."""
    credential: CredentialFormat | None = None
    check: Callable[[Any, ConnectorContext], Awaitable[None]] | None = None
    """Refuses, before a source is saved, an origin that no crawl could begin with. It does not use
    the network."""
    watch: Callable[[Any, ConnectorContext], AsyncGenerator[tuple[str, ...] | None]] | None = None
    """Yields the keys that changed, None where they are unknown, and once when watching has
    begun."""
    has_posix: bool = False
    """Whether its files have mode and owner."""
    has_absolute_keys: bool = False
    """Whether its keys begin with a slash."""

    def to_stored(self, origin: SourceOrigin) -> dict[str, Json]:
        """An origin as it is stored."""
        return {"kind": self.name, **origin.model_dump(mode="json")}

    def parse_origin(self, stored: Mapping[str, Json]) -> SourceOrigin:
        """A stored origin of this kind."""
        fields = {name: value for name, value in stored.items() if name != "kind"}
        try:
            return self.origin.model_validate(fields)
        except ValidationError as error:
            raise InvalidFormat(
                f"the source's configuration is invalid: {error}", field="config"
            ) from None

    def parse_login(self, text: str) -> SourceLogin:
        """The credential of such a source, or InvalidFormat, which never contains the text."""
        if self.credential is None:
            raise InvalidInput(
                f"a source of kind {self.name!r} needs no credential", field="source_id"
            )
        login = self.credential.parse(text)
        if login is None or not login.user or not login.secret or not _is_plain(text):
            raise InvalidFormat(
                f"the credential of a {self.name} source is written {self.credential.shape}",
                field="value",
                expected=self.credential.shape,
            )
        return login


@dataclass(frozen=True, slots=True)
class ConnectorRegistry:
    """The kinds of sources of this server, by name."""

    kinds: Mapping[str, ConnectorKind]

    @classmethod
    def of(cls, rows: Iterable[ConnectorKind]) -> "ConnectorRegistry":
        """The registry of these rows; Conflict if two share a name or an argument."""
        kinds: dict[str, ConnectorKind] = {}
        owners: dict[str, str] = {}
        for row in rows:
            for taken, what in _claims(row):
                if taken in owners:
                    raise Conflict(
                        f"connectors {owners[taken]!r} and {row.name!r} share the {what}",
                        connector=row.name,
                    )
                owners[taken] = row.name
            kinds[row.name] = row
        return cls(MappingProxyType(kinds))

    def find(self, name: str) -> ConnectorKind:
        """The kind of that name; Unprocessable where its plugin is not there any more."""
        kind = self.kinds.get(name)
        if kind is None:
            raise Unprocessable(
                f"no connector of this server reads sources of kind {name!r}: install the plugin "
                "that has it, or remove the source",
                kind=name,
                known=[*sorted(self.kinds)],
            )
        return kind

    @property
    def addable(self) -> tuple[ConnectorKind, ...]:
        """The kinds that callers may add."""
        return tuple(it for it in self.kinds.values() if it.options is not None)

    def is_watched(self, stored: Mapping[str, Json]) -> bool:
        """Whether changes of this origin are followed as they happen."""
        kind = self.kinds.get(str(stored.get("kind")))
        return kind is not None and kind.watch is not None and kind.parse_origin(stored).is_watched

    def has_absolute_keys(self, name: str) -> bool:
        return name in self.kinds and self.kinds[name].has_absolute_keys


def _claims(row: ConnectorKind) -> Iterable[tuple[str, str]]:
    yield f"kind {row.name}", "name"
    for option in row.options.model_fields if row.options else ():
        yield f"option {option}", f"argument {option!r}"


def _is_plain(text: str) -> bool:
    # Header values contain no line breaks and no control characters.
    return text.isprintable() and text == text.strip()
