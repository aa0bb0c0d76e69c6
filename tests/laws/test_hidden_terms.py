"""Which words stand in files that a caller may not see changes nothing in what a search tells.

Two worlds have the same files in the same places, as long, with the same grants. What the hidden
ones say differs: above all, whether it is what is asked for. Whoever sees much, some or one of the
others is told the same in both: the hits, their order, and every number.
"""

from collections.abc import Sequence
from random import Random
from typing import NamedTuple, cast

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.laws.facts import Credential, File, Source, Tenant, User, Write, apply
from tests.laws.lake_clients import Inside, Said
from tests.laws.lake_twins import near
from tests.laws.sql import bearer
from tests.laws.test_lake_rights import LakeApp, shore
from tests.laws.test_lake_twins import in_order
from tests.laws.worlds import World
from tests.soak import SOAK

__all__ = ["shore"]

WORDS = ("heron", "reeds", "otter", "milling", "sluice", "weir")
READERS = ("most", "half", "few", "one")
SCOPES = frozenset({"pecia.search", "pecia.read"})


class Seen(NamedTuple):
    """A file of which something may be seen: what it says, and by whom besides `most`."""

    text: list[str]
    readers: frozenset[str]


class Worlds(NamedTuple):
    """`hidden` holds what each hidden file says, in the one world and in the other."""

    seen: list[Seen]
    hidden: list[tuple[list[str], list[str]]]
    questions: list[str]


words: st.SearchStrategy[str] = st.sampled_from(WORDS)
said = st.lists(words, min_size=1, max_size=9)


@st.composite
def hidden_texts(draw: st.DrawFn) -> tuple[list[str], list[str]]:
    count = draw(st.integers(1, 9))
    as_many = st.lists(words, min_size=count, max_size=count)
    return draw(as_many), draw(as_many)


worlds = st.builds(
    Worlds,
    seen=st.lists(
        st.builds(Seen, said, st.frozensets(st.sampled_from(READERS[1:3]))), min_size=2, max_size=9
    ),
    hidden=st.lists(hidden_texts(), min_size=1, max_size=9),
    questions=st.lists(
        st.lists(words, min_size=1, max_size=4, unique=True).map(" ".join),
        min_size=1,
        max_size=2,
    ),
)


def tenant(given: Worlds, which: int) -> Tenant:
    made = Tenant("t1")
    for user in (*READERS, "other"):
        apply(made, Write("add", "user_account", "t1", user, User()))
        made.credential[f"t1/{user}/1"] = Credential("pat", user, SCOPES)
    made.source["s1"] = Source("per_file")
    for n, it in enumerate(given.seen):
        readers = {"most", *it.readers, *(("one",) if n == 0 else ())}
        granted = frozenset(f"user::{reader}" for reader in readers)
        made.file["s1", f"a/{n}.md"] = _file([*it.text, f"seen{n}"], granted)
    for n, texts in enumerate(given.hidden):
        made.file["s1", f"b/{n}.md"] = _file([*texts[which], f"hid{n}"], frozenset({"user::other"}))
    return made


def _file(text: Sequence[str], granted: frozenset[str]) -> File:
    return File(7, granted, texts=(" ".join(text),), embedded=True)


def told(shore: LakeApp, made: Tenant, questions: Sequence[str]) -> list[Said]:
    world = World([made])
    names = shore.load(world, Random(0))
    shore.settle(world, names)
    way = Inside(shore.app)

    async def ask() -> list[Said]:
        typed = [
            await way.ask(
                bearer(names, f"t1/{reader}/1"),
                "search_content",
                query=question[:-cut],
                typing=True,
            )
            for reader in READERS
            for question in questions
            for cut in (1, 2)
        ]
        return typed + [
            await way.ask(
                bearer(names, f"t1/{reader}/1"),
                "search_content",
                query=question,
                mode=mode,
                explain=explain,
            )
            for reader in READERS
            for question in questions
            for mode in ("lexical", "hybrid")
            for explain in (True, False)
        ]

    return cast(list[Said], in_order(shore.portal.call(ask)))


@pytest.mark.timeout(0 if SOAK else 300)
def test_what_hidden_files_say_changes_no_answer(shore: LakeApp) -> None:
    @settings(
        max_examples=500 if SOAK else 5,
        deadline=None,
        # A world costs seconds, and a smaller one would tell no more.
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=[HealthCheck.too_slow],
    )
    @given(worlds)
    def law(given: Worlds) -> None:
        one, other = (told(shore, tenant(given, it), given.questions) for it in (0, 1))
        for mine, yours in zip(one, other, strict=True):
            assert mine == near(yours)

    law()
