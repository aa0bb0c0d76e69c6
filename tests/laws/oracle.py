"""The meaning of rights, naively: who sees which rows, who may write which. It knows no SQL.

Only a caller's own tenant is ever looked at, so that nothing of another can be seen or changed.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.laws.facts import Audit, Credential, Key, Tenant, Verb, Write


@dataclass(frozen=True, slots=True)
class Caller:
    """A credential that is good, and what it stands for."""

    tenant: Tenant
    credential_id: str
    user_id: str | None
    is_admin: bool
    scopes: frozenset[str]
    holds: frozenset[str]

    @property
    def is_member(self) -> bool:
        return self.user_id is not None

    @property
    def administers(self) -> bool:
        return self.is_admin and "pecia.admin" in self.scopes


def caller(tenant: Tenant, credential_id: str) -> Caller | None:
    """Whoever this credential lets in; None when it lets nobody in."""
    found = tenant.credential.get(credential_id)
    if found is None or found.revoked or found.expired or tenant.status != "active":
        return None
    user = tenant.user_account[found.user_id] if found.user_id is not None else None
    if user is not None and user.status == "disabled":
        return None
    is_admin = user is not None and user.role == "admin"
    holds = frozenset(_holds(tenant, found, is_admin))
    return Caller(tenant, credential_id, found.user_id, is_admin, found.scopes, holds)


def _holds(tenant: Tenant, credential: Credential, is_admin: bool) -> Iterator[str]:
    yield "role::anyone"
    yield from credential.claims
    if credential.user_id is None:
        return
    yield "role::everyone"
    yield f"user::{credential.user_id}"
    yield from (name for user, name in tenant.user_principal if user == credential.user_id)
    yield from (f"group::{it}" for it, user in tenant.group_member if user == credential.user_id)
    if is_admin:
        yield "role::admin"


def roles_in(who: Caller, source: str) -> set[str]:
    """The caller's roles in a source, however they come by them."""
    held = who.tenant.source_role.items()
    return {it.role for (where, whom), it in held if where == source and whom in who.holds}


def folder_roles(who: Caller, source: str, key: str) -> set[str]:
    """The caller's roles in the folders above a key."""
    return {
        it.role
        for (where, prefix, whom), it in who.tenant.folder_grant.items()
        if where == source and covers(prefix, key) and whom in who.holds
    }


def covers(prefix: str, key: str) -> bool:
    """Whether a key is below a folder. A folder of a site, and only that begins with a slash, is a
    page as well, whatever is asked of it."""
    if key.startswith(prefix):
        return True
    page = prefix.removesuffix("/")
    return page.startswith("/") and (key == page or key.startswith(f"{page}?"))


def sees_file(who: Caller, source: str, key: str) -> bool:
    """The heart of it. A source that is switched off has no files for anybody."""
    if not who.tenant.source[source].enabled:
        return False
    roles, folders = roles_in(who, source), folder_roles(who, source, key)
    if who.is_admin or roles & {"owner", "writer"} or "writer" in folders:
        return True
    match who.tenant.source[source].trim_mode:
        case "open":
            return who.is_member
        case "source_only":
            return bool(roles)
        case _:
            file = who.tenant.file[source, key]
            return "reader" in folders or (file.known and bool(file.granted & who.holds))


def knows_source(who: Caller, source: str) -> bool:
    """Whether a right in the source itself shows it, whatever files it has."""
    granted = {where for where, _, whom in who.tenant.folder_grant if whom in who.holds}
    is_open = who.tenant.source[source].trim_mode == "open"
    return (
        who.is_admin
        or bool(roles_in(who, source))
        or source in granted
        or (is_open and who.is_member)
    )


def sees_source(who: Caller, source: str) -> bool:
    keys = (key for where, key in who.tenant.file if where == source)
    return knows_source(who, source) or any(sees_file(who, source, key) for key in keys)


def may_write(who: Caller, source: str, key: str) -> bool:
    """Whether a file may be put at, changed at or taken from this key."""
    may = who.is_admin or bool(roles_in(who, source) & {"owner", "writer"})
    may = may or "writer" in folder_roles(who, source, key)
    off = source in who.tenant.source and not who.tenant.source[source].enabled
    return not off and may and who.is_member and "pecia.write" in who.scopes


def owns(who: Caller, source: str) -> bool:
    return who.is_member and (who.is_admin or "owner" in roles_in(who, source))


def may_govern(who: Caller, source: str) -> bool:
    """Whether the rights in a source are the caller's to change."""
    return owns(who, source) and "pecia.admin" in who.scopes


def sees_job(who: Caller, key: str) -> bool:
    return who.is_member and (who.is_admin or who.user_id in who.tenant.jobs_visible[key].asked_by)


def is_private_to(who: Caller, user_id: str | None) -> bool:
    """Its user's business, and the administrators'."""
    return who.is_member and (user_id == who.user_id or who.is_admin)


def allows(who: Caller | None, write: Write) -> bool:
    """Whether this caller may do this."""
    if who is None or write.tenant != who.tenant.name:
        return False
    rule = _RULES.get((write.verb, write.table))
    return rule is not None and rule(who, write)


def is_writable(verb: Verb, table: str) -> bool:
    """Whether anybody at all may do this to this table."""
    return (verb, table) in _RULES


def _administers(who: Caller, write: Write) -> bool:
    return who.administers


def _governs(who: Caller, write: Write) -> bool:
    return may_govern(who, _first(write.key))


def _writes(who: Caller, write: Write) -> bool:
    if write.changes.get("purge"):
        # It rewrites the audit log too.
        return may_govern(who, write.key[0])
    return may_write(who, write.key[0], write.key[1])


def _changes_file(who: Caller, write: Write) -> bool:
    """Rights are for whoever governs; a move needs both places."""
    if "granted" in write.changes:
        # What was captured at the origin is not for callers to say.
        return may_govern(who, write.key[0]) and write.changes.get("known", True)
    places = (write.key[1], write.changes.get("key", write.key[1]))
    return all(may_write(who, write.key[0], key) for key in places)


def _names_principal(who: Caller, write: Write) -> bool:
    return who.is_member and "pecia.admin" in who.scopes


def _makes_credential(who: Caller, write: Write) -> bool:
    made: Credential = write.row
    for_whom = made.user_id == who.user_id or who.administers
    # A token is never stronger than the one that made it.
    weak = made.kind == "pat" and not made.claims and made.scopes <= who.scopes
    return who.is_member and for_whom and weak


def _changes_credential(who: Caller, write: Write) -> bool:
    found = who.tenant.credential[_first(write.key)]
    whose = found.user_id == who.user_id or who.administers
    return who.is_member and whose and set(write.changes) == {"revoked"}


def _changes_job(who: Caller, write: Write) -> bool:
    """Whoever asked for it alone, or an administrator."""
    asked_by = who.tenant.jobs_visible[_first(write.key)].asked_by
    alone = asked_by == frozenset({who.user_id or ""}) and "pecia.write" in who.scopes
    return sees_job(who, _first(write.key)) and (who.administers or alone)


def _tells(who: Caller, write: Write) -> bool:
    told: Audit = write.row
    return (told.user_id, told.credential_id) == (who.user_id, who.credential_id)


def _first(key: Key) -> str:
    return key if isinstance(key, str) else key[0]


# What is not here nobody may do, whoever they are.
_RULES: dict[tuple[Verb, str], Callable[[Caller, Write], bool]] = {
    ("add", "principal"): _names_principal,
    ("add", "user_account"): _administers,
    ("change", "user_account"): _administers,
    ("remove", "user_account"): _administers,
    ("add", "user_principal"): _administers,
    ("remove", "user_principal"): _administers,
    ("add", "user_group"): _administers,
    ("change", "user_group"): _administers,
    ("remove", "user_group"): _administers,
    ("add", "group_member"): _administers,
    ("remove", "group_member"): _administers,
    ("add", "credential"): _makes_credential,
    ("change", "credential"): _changes_credential,
    ("add", "source"): _administers,
    ("change", "source"): _governs,
    ("remove", "source"): _governs,
    ("add", "source_role"): _governs,
    ("change", "source_role"): _governs,
    ("remove", "source_role"): _governs,
    ("add", "folder_grant"): _governs,
    ("change", "folder_grant"): _governs,
    ("remove", "folder_grant"): _governs,
    ("add", "file"): _writes,
    ("change", "file"): _changes_file,
    ("remove", "file"): _writes,
    ("add", "audit"): _tells,
    ("change", "jobs_visible"): _changes_job,
    ("add", "secret"): _administers,
    ("change", "secret"): _administers,
    ("remove", "secret"): _administers,
}
