"""Facts as SQL: what a write looks like as a statement, and what rows look like as facts.

Only names are translated here, such as `ana` to her id and back. No rights are known here.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Any
from uuid import UUID, uuid4, uuid5

from pecia.kernel.identity import pat
from tests.laws.facts import Tenant, Verb, Write
from tests.laws.visible import TABLES, Row

# Users and groups have the same id in every tenant: only the tenant tells them apart.
SHARED = UUID("6d1d4b5e-0c4f-4d0c-9a52-5d0a3c1f0a11")

# The tool that audit rows of worlds speak of.
AUDITED_TOOL = "law.row"


class Names:
    """What the things of one world are called in the database, and back."""

    def __init__(self) -> None:
        self.world = uuid4()
        self._by_id: dict[str, str] = {}
        self._tenants: dict[str, str] = {}
        self._principals: dict[tuple[str, str], int] = {}
        self._classes: dict[str, list[Row]] = {}
        self._jobs: dict[str, int] = {}

    @property
    def tenant_ids(self) -> list[str]:
        return [*self._tenants.values()]

    def tenant_label(self, tenant: str) -> str:
        return f"{tenant}-{self.world.hex}"

    def learn_tenant(self, tenant: str, id_: UUID) -> None:
        self._tenants[tenant] = str(id_)
        self._by_id[str(id_)] = tenant

    def learn_principal(self, tenant_id: UUID, id_: int, text: str) -> None:
        kind, _, rest = text.partition(":")
        scope, _, value = rest.partition(":")
        name = f"{kind}:{scope}:{self.plain(value)}"
        self._principals[self._by_id[str(tenant_id)], name] = id_
        self._by_id[f"#{id_}"] = name

    def tenant(self, name: str) -> str:
        return self._tenants[name]

    def principal(self, tenant: str, name: str) -> int:
        return self._principals[tenant, name]

    def id(self, name: str | None) -> str | None:
        """The id of a user, a group, a credential or an audit row."""
        if name is None:
            return None
        made = str(uuid5(self.world if "/" in name else SHARED, name))
        self._by_id[made] = name
        return made

    def plain(self, value: str) -> str:
        """An id as a name. What is not of this world stays as it is."""
        return self._by_id.get(value, value)

    def learn_class(self, of: UUID, id_: int, source: str, keys: list[str] | None) -> None:
        """A class stands for the files that carry it; with no keys, for the source itself."""
        tenant = self.plain(str(of))
        rows = [(tenant, source)] if keys is None else [(tenant, source, it) for it in keys]
        self._classes[f"@{id_}"] = rows

    def learn_job(self, key: str, id_: int) -> None:
        self._jobs[self.plain(key)] = id_

    def job(self, key: str) -> int:
        return self._jobs[key]

    def tables(self, shown: Iterable[tuple[str, list[str]]]) -> dict[str, frozenset[Row]]:
        """Rows by table, as facts."""
        found: dict[str, set[Row]] = {table: set() for table in TABLES}
        for table, values in shown:
            if table == "acl" and values[1] in self._classes:
                found[table].update(self._classes[values[1]])
            else:
                found[table].add(tuple(self.plain(it or "") for it in values))
        return {table: frozenset(rows) for table, rows in found.items()}


def bearer(names: Names, credential: str) -> str:
    """The token behind a credential."""
    return pat.encode(sha256(str(names.id(credential)).encode()).digest())


def columns(names: Names, write: Write) -> dict[str, Any]:
    """The columns that say which row this is."""
    if write.table == "tenant":
        return {"id": names.tenant(write.tenant)}
    parts = (write.key,) if isinstance(write.key, str) else write.key
    found = dict(zip(_KEYS[write.table], parts, strict=True))
    key = {column: _translated(names, write, column, it) for column, it in found.items()}
    return {"tenant_id": names.tenant(write.tenant), **key}


def added(names: Names, write: Write) -> dict[str, Any]:
    """Every column of a new row."""
    stated = {name: getattr(write.row, name) for name in getattr(write.row, "__slots__", ())}
    # A file is born without grants, and a token good.
    stated = {k: it for k, it in stated.items() if k not in BORN_WITHOUT}
    return columns(names, write) | _needed(names, write) | _stated(names, write, stated)


def changed(names: Names, write: Write) -> dict[str, Any]:
    """The columns that change."""
    return _stated(names, write, write.changes)


def statement(names: Names, write: Write, *, ask_back: bool = False) -> str:
    """The write as one statement. Asking back makes the database show the new row to the writer."""
    table = f"kernel.{write.table}"
    if write.table == "principal":
        kind, scope, value = str(write.key).split(":", 2)
        return f"SELECT kernel.intern({quote(kind)}, {quote(scope)}, {quote(value)})"
    if write.table == "jobs_visible":
        do = "cancel_job" if write.changes["status"] == "cancelled" else "retry_job"
        return f"SELECT kernel.{do}({names.job(str(write.key))})"
    if put := _putting(names, write):
        return put
    if write.verb == "add":
        new = added(names, write)
        values = ", ".join(map(quote, new.values()))
        back = " RETURNING tenant_id" if ask_back else ""
        return f"INSERT INTO {table} ({', '.join(new)}) VALUES ({values}){back}"
    if "purge" in write.changes and write.table == "file":
        of = (names.tenant(write.tenant), *write.key)
        return f"SELECT kernel.purge_files({', '.join(map(quote, of))})"
    if "purge" in write.changes:
        return f"SELECT kernel.purge_user({quote(write.key)})"
    where = " AND ".join(f"{k} = {quote(it)}" for k, it in columns(names, write).items())
    if write.verb == "remove":
        return f"DELETE FROM {table} WHERE {where}"
    if "granted" in write.changes:
        granted = quote(_granted(names, write))
        return f"SELECT kernel.grant_file({quote(write.key[0])}, {quote(write.key[1])}, {granted})"
    changes = ", ".join(f"{k} = {quote(it)}" for k, it in changed(names, write).items())
    return f"UPDATE {table} SET {changes} WHERE {where}"


def calls_function(write: Write) -> bool:
    """Whether the statement calls a function that works in the caller's own tenant."""
    own = {"granted"} | ({"purge"} if write.table == "user_account" else set[str]())
    return write.table == "principal" or bool(own & {*write.changes})


def house_statement(names: Names, write: Write) -> str:
    """The same done by the house itself, which asks nobody and captures grants."""
    tenant = names.tenant(write.tenant)
    if write.table == "principal":
        kind, scope, value = str(write.key).split(":", 2)
        values = ", ".join(map(quote, (tenant, kind, scope, value)))
        return f"SELECT kernel.intern_in({values})"
    if "granted" in write.changes:
        of = (tenant, *write.key, _granted(names, write), write.changes["known"])
        return f"SELECT kernel.regrant_file({', '.join(map(quote, of))})"
    if write.table == "jobs_visible":
        status = "cancelled" if write.changes["status"] == "cancelled" else "todo"
        change = f"status = '{status}', abort_requested = false"
        return f"UPDATE jobs.procrastinate_jobs SET {change} WHERE id = {names.job(str(write.key))}"
    return statement(names, write)


def embed(names: Names, tenant: str, text: str) -> str:
    """A vector for the chunk of this text, with the text for its model."""
    of = ", ".join((quote(names.tenant(tenant)), "id", "file_id", quote(text), "text_hash"))
    chunk = f"tenant_id = {quote(names.tenant(tenant))} AND text = {quote(text)}"
    return f"INSERT INTO kernel.vector SELECT {of}, 2, '[1,2]' FROM kernel.chunk WHERE {chunk}"


def put_jobs(names: Names, tenant: Tenant) -> Iterator[str]:
    """Each job, asked for by each who asked for it, or by nobody."""
    for key, job in tenant.jobs_visible.items():
        for user in sorted(job.asked_by) or (None,):
            of = (names.tenant(tenant.name), names.id(user), "work", names.id(key), "default")
            yield f"SELECT kernel.put_job({', '.join(map(quote, of))}, 0, '{{}}', NULL)"


def sweep(verb: Verb, table: str) -> str:
    """The write done to every row there is. With no condition, only the policy for it decides."""
    if verb == "remove":
        return f"DELETE FROM kernel.{table}"
    if verb == "add":
        return f"INSERT INTO kernel.{table} DEFAULT VALUES"
    return f"UPDATE kernel.{table} SET {SWEPT[table]}"


def quote(value: Any) -> str:
    """A literal. Values come from worlds.py alone."""
    match value:
        case None:
            return "NULL"
        case bool() | int():
            return str(value)
        case Raw():
            return value
        case str():
            return "'" + value.replace("'", "''") + "'"
        case _:
            kind = "integer" if all(isinstance(it, int) for it in value) else "text"
            return f"ARRAY[{', '.join(map(quote, value))}]::{kind}[]"


class Raw(str):
    """SQL as it is."""


_KEYS = {
    "tenant": ("id",),
    "user_account": ("id",),
    "user_principal": ("user_id", "principal_id"),
    "user_group": ("id",),
    "group_member": ("group_id", "user_id"),
    "credential": ("id",),
    "source": ("id",),
    "source_role": ("source_id", "principal_id"),
    "folder_grant": ("source_id", "prefix", "principal_id"),
    "file": ("source_id", "key"),
    "audit": ("id",),
    "secret": ("purpose", "name"),
    "quota": ("kind",),
}

# Callers may not even name these columns, or they are rows elsewhere.
BORN_WITHOUT = ("granted", "known", "revoked", "texts", "embedded")

# Where files come from, as the features with sources store it. A space has its folder alone.
CONFIGS: dict[str, Any] = {
    "folder": {"origin": {"kind": "folder", "folder": "/srv/files"}},
    "web": {"origin": {"kind": "web", "url": "https://example.org/"}},
    "upload": {"origin": {"kind": "upload", "source_id": "uploads"}},
    "wiki": {"folder": "/srv/space"},
}

# Constants, where the table allows it: reading a column would bring the policy for reading in.
SWEPT = {
    "tenant": "status = 'active'",
    "principal": "kind = 'role'",
    "user_account": "status = 'active'",
    "user_principal": "user_id = NULL",
    "user_group": "name = name",
    "group_member": "user_id = NULL",
    "credential": "revoked_at = now()",
    "source": "enabled = true",
    "source_role": "role = 'reader'",
    "folder_grant": "role = 'reader'",
    "file": "size_bytes = 1",
    "revision": "extractor = 'other'",
    "chunk": "text = ''",
    "vector": "model = 'other'",
    "tenant_clock": "n = 0",
    "tick": "n = 0",
    "change": "file_id = 0",
    "index_node": "n = 0",
    "acl": "known = true",
    "audit": "tool = 'other'",
    "secret": "key_id = 'key3'",
    "quota": "most = 1",
    "usage": "used = 0",
    "job": "name = 'other'",
}


def _translated(names: Names, write: Write, column: str, value: Any) -> Any:
    is_id = column == "id" and write.table != "source"
    if is_id or column in ("user_id", "group_id", "credential_id"):
        return names.id(value)
    return names.principal(write.tenant, value) if column == "principal_id" else value


def _stated(names: Names, write: Write, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Facts that have a column of their own name, or nearly."""
    found: dict[str, Any] = {}
    for name, value in facts.items():
        match name:
            case "revoked":
                found["revoked_at"] = Raw("now()") if value else None
            case "expired":
                found["expires_at"] = "2001-01-01" if value else None
            case "claims":
                found["claims"] = sorted(names.principal(write.tenant, it) for it in value)
            case "scopes":
                found["scopes"] = sorted(value)
            case _:
                found[name] = _translated(names, write, name, value)
    return found


def _needed(names: Names, write: Write) -> dict[str, Any]:
    """What a table insists on and rights do not care about."""
    match write.table:
        case "user_account":
            return {"name": write.key}
        case "credential":
            digest = pat.check(bearer(names, str(write.key)))
            return {"hash": Raw(f"'\\x{digest.hex()}'")}
        case "source":
            return {"config": json.dumps(CONFIGS[write.row.protocol])}
        case "audit":
            return {"at": Raw("now()"), "tool": AUDITED_TOOL, "interface": "law", "status": "ok"}
        case "secret":
            return {"nonce": Raw("'n'"), "ciphertext": Raw("'c'")}
        case _:
            return {}


def _putting(names: Names, write: Write) -> str | None:
    """A file put with its text, which is one chunk; None when this is not that."""
    texts = getattr(write.row, "texts", ()) or [it for it in [write.changes.get("text")] if it]
    if write.table != "file" or not texts:
        return None
    text = texts[-1]
    size = write.row.size_bytes if write.row else write.changes["size_bytes"]
    digest = sha256(text.encode()).hexdigest()
    file: dict[str, Any] = dict(zip(("source_id", "key"), write.key, strict=True))
    file |= {"place": 1, "size_bytes": size, "has_text": True, "has_chunks": True, "text": text}
    file |= {"sha256": digest, "units": [], "extractor": "", "title": "", "language": ""}
    file |= {"status": "ok", "reason": "", "chunk_count": 1}
    chunk: dict[str, Any] = {"place": 1, "seq": 0, "char_start": 0, "char_end": len(text)}
    chunk |= {"text": text, "prefix": "", "headings": [], "unit_label": ""}
    chunk |= {"text_hash": digest[:32]}
    of = (names.tenant(write.tenant), json.dumps([file]), json.dumps([chunk]))
    return f"SELECT * FROM kernel.put_files({', '.join(map(quote, of))})"


def _granted(names: Names, write: Write) -> list[int]:
    return sorted(names.principal(write.tenant, it) for it in write.changes["granted"])
