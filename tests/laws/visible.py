"""Which rows of which tables a caller sees, as the oracle says. It knows no SQL."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TypeAlias

from tests.laws.facts import File
from tests.laws.oracle import (
    Caller,
    is_private_to,
    knows_source,
    owns,
    sees_file,
    sees_job,
    sees_source,
)

Row: TypeAlias = tuple[str, ...]
Rows: TypeAlias = frozenset[Row]


def visible(who: Caller) -> dict[str, Rows]:
    """Every row of every table that this caller sees. Each begins with its tenant."""
    return {
        table: frozenset((who.tenant.name, *row) for row in rows(who))
        for table, rows in _VISIBLE.items()
    }


def _principals(who: Caller) -> Iterator[Row]:
    if who.is_member:
        yield from ((it,) for it in who.tenant.principal)


def _users(who: Caller) -> Iterator[Row]:
    if who.is_member:
        yield from ((k, it.role, it.status) for k, it in who.tenant.user_account.items())


def _user_principals(who: Caller) -> Iterator[Row]:
    yield from (it for it in who.tenant.user_principal if is_private_to(who, it[0]))


def _groups(who: Caller) -> Iterator[Row]:
    if who.is_member:
        yield from ((key, it.name) for key, it in who.tenant.user_group.items())


def _members(who: Caller) -> Iterator[Row]:
    """Of the groups that they are in; administrators of all."""
    if who.is_member:
        every = who.tenant.group_member
        yield from (it for it in every if who.is_admin or f"group::{it[0]}" in who.holds)


def _credentials(who: Caller) -> Iterator[Row]:
    for key, it in who.tenant.credential.items():
        if is_private_to(who, it.user_id):
            scopes = ",".join(sorted(it.scopes))
            yield key, it.kind, it.user_id or "", scopes, _word(it.revoked), _word(it.expired)


def _sources(who: Caller) -> Iterator[Row]:
    for key, it in who.tenant.source.items():
        if sees_source(who, key):
            yield key, it.protocol, it.trim_mode, _word(it.enabled)


def _source_roles(who: Caller) -> Iterator[Row]:
    for (source, whom), it in who.tenant.source_role.items():
        if who.is_member and (whom in who.holds or owns(who, source)):
            yield source, whom, it.role


def _folder_grants(who: Caller) -> Iterator[Row]:
    for (source, prefix, whom), it in who.tenant.folder_grant.items():
        if who.is_member and (whom in who.holds or owns(who, source)):
            yield source, prefix, whom, it.role


def _files(who: Caller) -> Iterator[Row]:
    for (source, key), it in who.tenant.file.items():
        if sees_file(who, source, key):
            yield source, key, str(it.size_bytes)


def _revisions(who: Caller) -> Iterator[Row]:
    for key, it in who.tenant.file.items():
        if sees_file(who, *key):
            yield from ((text,) for text in it.texts)


def _chunks(who: Caller) -> Iterator[Row]:
    yield from ((it.texts[-1],) for it in _read(who))


def _vectors(who: Caller) -> Iterator[Row]:
    yield from ((it.texts[-1],) for it in _read(who) if it.embedded)


def _read(who: Caller) -> Iterator[File]:
    """The files with a text that this caller sees."""
    yield from (it for key, it in who.tenant.file.items() if it.texts and sees_file(who, *key))


def _classes(who: Caller) -> Iterator[Row]:
    """A class is seen with the files that carry it; the source's own with the source itself."""
    yield from (it for it in who.tenant.file if sees_file(who, *it))
    yield from ((it,) for it in who.tenant.source if knows_source(who, it))


def _audits(who: Caller) -> Iterator[Row]:
    for key, it in who.tenant.audit.items():
        if is_private_to(who, it.user_id):
            yield (key,)


def _secrets(who: Caller) -> Iterator[Row]:
    if who.is_admin:
        yield from ((*key, it.key_id) for key, it in who.tenant.secret.items())


def _quotas(who: Caller) -> Iterator[Row]:
    if who.is_member:
        yield from ((key, str(it.most)) for key, it in who.tenant.quota.items())


def _usage(who: Caller) -> Iterator[Row]:
    if who.is_admin:
        used = Counter(files=len(who.tenant.file))
        used["chunks"] = sum(bool(it.texts) for it in who.tenant.file.values())
        used["bytes"] = sum(it.size_bytes for it in who.tenant.file.values())
        yield from ((kind, str(n)) for kind, n in used.items() if n)


def _jobs(who: Caller) -> Iterator[Row]:
    for key, it in who.tenant.jobs_visible.items():
        if sees_job(who, key):
            yield key, it.status


_VISIBLE: dict[str, Callable[[Caller], Iterator[Row]]] = {
    "tenant": lambda who: iter([(who.tenant.status,)]),
    "principal": _principals,
    "user_account": _users,
    "user_principal": _user_principals,
    "user_group": _groups,
    "group_member": _members,
    "credential": _credentials,
    "source": _sources,
    "source_role": _source_roles,
    "folder_grant": _folder_grants,
    "file": _files,
    "revision": _revisions,
    "chunk": _chunks,
    "vector": _vectors,
    "acl": _classes,
    "audit": _audits,
    "secret": _secrets,
    "quota": _quotas,
    "usage": _usage,
    "jobs_visible": _jobs,
}

TABLES = tuple(_VISIBLE)


def _word(claim: bool) -> str:
    return "yes" if claim else "no"
