"""The law of rights: what a path shows and does is what the oracle says, row by row, both ways.

`try_world` makes a world, lets it live for a while, and then compares everything.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from random import Random

from tests.laws.facts import Tenant, Write, apply
from tests.laws.oracle import Caller, allows, caller, is_writable
from tests.laws.paths import Ask, Path, Sweep, SystemPath, UndoingPath
from tests.laws.sql import SWEPT, Names
from tests.laws.visible import visible
from tests.laws.worlds import World, make_world
from tests.laws.writes import SCOPES, make_any_write, make_house_write, make_step

# How the database says no: no row, no privilege, no good token, no right, nothing you may see.
NO = ("done 0", "42501", "PE401", "PE403", "PE404")
NEVER = ("42501", "PE401")

SWEEPS = [
    *(Sweep(verb, table) for table in SWEPT for verb in ("change", "remove")),
    *(Sweep("add", table) for table in SWEPT if not is_writable("add", table)),
    # Where rights are finest, most can go wrong.
    *[Sweep("change", "file"), Sweep("remove", "file")] * 6,
    *[Sweep("change", "source"), Sweep("remove", "source_role")] * 2,
]


class Broken(AssertionError):
    """The law does not hold."""


@dataclass(slots=True)
class Tally:
    """How much was tried."""

    worlds: int = 0
    callers: int = 0
    rows: int = 0
    steps: int = 0
    writes: int = 0


@dataclass(slots=True)
class Trial:
    """A world in the database, on trial by one path, and what has happened in it so far."""

    world: World
    names: Names
    house: SystemPath
    path: Path
    tally: Tally = field(default_factory=Tally)
    story: list[str] = field(default_factory=list[str])

    def broken(self, what: str) -> Broken:
        story = "\n  ".join(self.story) or "nothing"
        facts = "\n".join(map(str, self.world.tenants))
        return Broken(f"{what}\nwhat happened:\n  {story}\nfacts now:\n{facts}")


def try_world(chance: Random, house: SystemPath, path: UndoingPath, tally: Tally) -> None:
    """Hold one world to the law."""
    trial = begin(chance, house, path, tally)
    check_reads(trial)
    check_writes(trial, path, chance)
    tally.worlds += 1


def live_through_world(chance: Random, house: SystemPath, path: Path, tally: Tally) -> None:
    """The same on a path where everything that is done stays done."""
    check_reads(begin(chance, house, path, tally))
    tally.worlds += 1


def begin(chance: Random, house: SystemPath, path: Path, tally: Tally) -> Trial:
    """A new world, some steps old."""
    world = make_world(chance)
    trial = Trial(world, house.load(world, chance), house, path, tally)
    for _ in range(chance.randint(0, 24)):
        _live(trial, chance)
    return trial


def check_reads(trial: Trial) -> None:
    """Every caller is shown exactly the rows the oracle says."""
    trial.house.learn_classes(trial.names)
    for tenant, credential in trial.world.credentials:
        _check_read(trial, tenant, credential)


def check_writes(trial: Trial, path: UndoingPath, chance: Random) -> None:
    """Some writes by some callers, each undone again."""
    found = [make_any_write(chance, trial.world.tenants) for _ in range(10)]
    asks: list[Ask] = [it for it in found if it]
    asks += [chance.choice(SWEEPS) for _ in range(8)]
    check_asks(trial, path, [(_somebody(trial, chance, it), it) for it in asks])


def check_asks(trial: Trial, path: UndoingPath, asked: Iterable[tuple[str, Ask]]) -> None:
    """These writes, each undone again, succeed if and only if the oracle allows them."""
    by_caller: dict[str, list[Ask]] = defaultdict(list)
    for credential, ask in asked:
        by_caller[credential].append(ask)
    for credential, asks in by_caller.items():
        said = path.attempt(trial.names, credential, asks)
        for ask, it in zip(asks, said, strict=True):
            _judge(trial, credential, ask, it)


def _live(trial: Trial, chance: Random) -> None:
    """One step of history: the house or some caller changes something, or tries to."""
    by_house = chance.random() < 0.4
    make = make_house_write if by_house and chance.random() < 0.4 else make_step
    write = make(chance, trial.world.tenants)
    if write is None:
        return
    trial.tally.steps += 1
    if by_house:
        # Purging is done for an administrator.
        write = replace(write, changes={k: it for k, it in write.changes.items() if k != "purge"})
        trial.story.append(f"the house: {write}")
        trial.house.do(trial.names, write)
    elif not _done_by_caller(trial, write, _somebody(trial, chance, write)):
        return
    apply(trial.world.tenant(write.tenant), write)
    if write.table in ("principal", "user_account", "user_group"):
        trial.house.learn_principals(trial.names)


def _done_by_caller(trial: Trial, write: Write, credential: str) -> bool:
    tenant = trial.world.tenant(write.tenant)
    if not trial.path.can(write, tenant):
        return False
    trial.story.append(f"{credential}: {write}")
    said = trial.path.do(trial.names, credential, write, tenant)
    _judge(trial, credential, write, said)
    return said == "done 1"


def _somebody(trial: Trial, chance: Random, ask: Ask) -> str:
    """Somebody who may, somebody who almost may, or anybody."""
    world = trial.world
    known = [*(credential for _, credential in world.credentials), "t1/stranger"]
    if isinstance(ask, Write) and not trial.path.names_tenant(ask):
        known = [*world.tenant(ask.tenant).credential, f"{ask.tenant}/stranger"]
    wanted = chance.choice((_expected, _almost, None))
    fit = [it for it in known if wanted and wanted(_caller(world, it), ask)]
    return chance.choice(fit or known)


def _almost(who: Caller | None, ask: Ask) -> bool:
    """Whether they might, were they a member with a token for everything, or if nothing moved."""
    more = who and replace(who, user_id=who.user_id or "member", scopes=frozenset(SCOPES))
    stays = replace(ask, changes={}) if isinstance(ask, Write) and "key" in ask.changes else ask
    return bool(_expected(more, stays))


def _check_read(trial: Trial, tenant: Tenant, credential: str) -> None:
    who = caller(tenant, credential)
    who = who if who and trial.path.admits(who) else None
    shown = trial.path.read(trial.names, credential)
    trial.tally.callers += 1
    if who is None or shown is None:
        if (who is None) != (shown is None):
            raise trial.broken(f"{credential} should {'' if who else 'not '}have been let in")
        return
    expected = visible(who)
    for table in trial.path.tables:
        trial.tally.rows += len(expected[table])
        if shown[table] != expected[table]:
            too_much = sorted(shown[table] - expected[table])
            too_little = sorted(expected[table] - shown[table])
            raise trial.broken(
                f"{credential} in {table}: should not see {too_much}, should see {too_little}"
            )


def _judge(trial: Trial, credential: str, ask: Ask, said: str) -> None:
    trial.tally.writes += 1
    who = _caller(trial.world, credential)
    expected = _expected(who, ask) if who and trial.path.reaches(who) else 0
    never = isinstance(ask, Sweep) and not is_writable(ask.verb, ask.table)
    right = said == f"done {expected}" if expected else said.startswith(NEVER if never else NO)
    if not right:
        raise trial.broken(f"{credential}: {ask}\nshould touch {expected} rows, and did: {said}")


def _caller(world: World, credential: str) -> Caller | None:
    return caller(world.tenant(credential.partition("/")[0]), credential)


def _expected(who: Caller | None, ask: Ask) -> int:
    """How many rows the oracle lets this caller touch."""
    if isinstance(ask, Write):
        return int(allows(who, ask))
    return _sweepable(who, ask) if who and is_writable(ask.verb, ask.table) else 0


def _sweepable(who: Caller, ask: Sweep) -> int:
    changes = {"revoked": True} if ask.table == "credential" else {}
    return sum(
        allows(who, Write(ask.verb, ask.table, who.tenant.name, key, None, changes))
        for key in getattr(who.tenant, ask.table)
    )
