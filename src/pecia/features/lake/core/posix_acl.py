"""Who may see a file, from its mode bits and those of every folder above it. Pure.

A set of principals covers most cases: an owner, a group, everyone. What no set can express (one
group on the path and another at the end, a group excluded where others are allowed) becomes a rule,
which PostgreSQL evaluates per caller.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations

import orjson

from pecia.kernel.corpus.connector import PosixAccess

READ_BITS = 0o444
EXECUTE_BITS = 0o111
ROOT_UID = "0"
MAX_GROUPS = 6
"""Different groups on one path; with more, a rule is made without trying a set."""

MAX_RULE_BYTES = 2000
"""The limit of a database index. A file below more different folders is visible to owners only."""


@dataclass(frozen=True, slots=True)
class PosixPermission:
    """One folder to enter, or the file to read: its owner, its group, and what its mode allows."""

    uid: str
    gid: str
    owner: bool
    group: bool
    others: bool

    @classmethod
    def of(cls, mode: int, uid: int, gid: int, wanted: int) -> "PosixPermission":
        bits = mode & wanted
        return cls(str(uid), str(gid), bool(bits & 0o700), bool(bits & 0o070), bool(bits & 0o007))

    def allows(self, uid: str | None, gids: frozenset[str]) -> bool:
        """As in the kernel: the first match of owner, group and others decides."""
        if uid == ROOT_UID:
            return True
        if uid == self.uid:
            return self.owner
        return self.group if self.gid in gids else self.others


def derive_grants(posix: PosixAccess) -> list[tuple[str, str]]:
    """The principals of a source who may read a file, as kind and value. Root reads everything."""
    steps = _permissions(posix)
    grants = {("posixuid", ROOT_UID)}
    plain = _as_principals(steps)
    if plain is not None:
        return sorted(grants | plain)
    rule = orjson.dumps([[it.uid, it.gid, it.owner, it.group, it.others] for it in steps])
    return sorted(grants | ({("posixrule", rule.decode())} if _fits(rule) else set()))


def _fits(rule: bytes) -> bool:
    return len(rule) <= MAX_RULE_BYTES


def acl_fingerprint(posix: PosixAccess) -> str:
    """Everything the rights of a file derive from: equal fingerprints, equal rights."""
    above = sorted({(mode & EXECUTE_BITS, uid, gid) for mode, uid, gid in posix.above})
    return orjson.dumps([posix.mode & READ_BITS, posix.uid, posix.gid, above]).decode()


def _permissions(posix: PosixAccess) -> list[PosixPermission]:
    above = {PosixPermission.of(*it, EXECUTE_BITS) for it in posix.above}
    closed = [it for it in above if not (it.owner and it.group and it.others)]
    file = PosixPermission.of(posix.mode, posix.uid, posix.gid, READ_BITS)
    return [*sorted(closed, key=lambda it: (it.uid, it.gid, it.owner, it.group)), file]


def _as_principals(steps: list[PosixPermission]) -> set[tuple[str, str]] | None:
    """The equivalent set of principals; None if there is none."""
    uids = {it.uid for it in steps}
    gids = sorted({it.gid for it in steps})
    if len(gids) > MAX_GROUPS:
        return None
    kinds = [(uid, held) for uid in (*sorted(uids), None) for held in _subsets(gids)]
    lets = {it: all(step.allows(*it) for step in steps) for it in kinds}
    if all(lets.values()):
        return {("role", "everyone")}
    owners = {uid for uid in uids if all(lets[uid, held] for held in _subsets(gids))}
    groups = {gid for gid in gids if all(may for (_, held), may in lets.items() if gid in held)}
    if any(may != (uid in owners or bool(held & groups)) for (uid, held), may in lets.items()):
        return None
    return {("posixuid", it) for it in owners} | {("posixgid", it) for it in groups}


def _subsets(gids: Iterable[str]) -> Iterator[frozenset[str]]:
    every = [*gids]
    for size in range(len(every) + 1):
        yield from map(frozenset, combinations(every, size))
