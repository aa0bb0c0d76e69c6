"""Whose memories are found: by user, project, mode and collection, and by nobody else."""

from pathlib import Path
from uuid import uuid4

import pytest

from pecia.kernel.errors import Forbidden, InvalidFormat, NotFound
from pecia.kernel.store.cluster import DatabaseLogins
from tests.conftest import CONTEXT
from tests.features.memory.conftest import Memories, member, open_memories

pytestmark = pytest.mark.anyio

SECRET = "Bo hides the spare key under the red flower pot."


async def test_a_memory_is_its_owners_alone_until_it_is_shared(memories: Memories) -> None:
    made = await memories.remember(memories.bo, SECRET)
    id_ = made["memory"][0]["id"]
    assert await memories.recall(memories.cy, "spare key", similarity_threshold=0) == []
    assert await memories.listed(memories.cy) == []
    exported = await memories.call(memories.cy, "memory_export")
    assert exported["memories"] == []
    with pytest.raises(NotFound) as refused:
        await memories.call(memories.cy, "memory_get", id=id_)
    stranger = str(uuid4())
    with pytest.raises(NotFound) as unknown:
        await memories.call(memories.cy, "memory_get", id=stranger)
    assert refused.value.payload() == {
        name: it.replace(stranger, id_) if isinstance(it, str) else it
        for name, it in unknown.value.payload().items()
    }
    gone = await memories.call(memories.cy, "memory_delete", ids=[id_, stranger])
    assert (gone["deleted"], gone["notFound"], gone["notYours"]) == ([], [id_, stranger], [])
    assert await memories.listed(memories.bo) == [SECRET]


async def test_an_administrator_does_not_read_what_others_keep(memories: Memories) -> None:
    made = await memories.remember(memories.bo, SECRET)
    assert await memories.recall(memories.ana, "spare key", similarity_threshold=0) == []
    assert await memories.listed(memories.ana) == []
    asked = {"query": "spare key flower pot", "source_id": "memory"}
    assert (await memories.call(memories.ana, "lake.search_content", **asked))["hits"] == []
    id_ = made["memory"][0]["id"]
    with pytest.raises(NotFound):
        await memories.call(memories.ana, "memory_get", id=id_)
    gone = await memories.call(memories.ana, "memory_delete", ids=[id_])
    assert gone["notFound"] == [id_]
    assert await memories.listed(memories.bo) == [SECRET]


async def test_an_administrator_who_has_to_read_grants_it_themselves_on_the_record(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    async with open_memories(database, tmp_path / "home") as memories:
        made = await memories.remember(memories.bo, SECRET)
        id_ = made["memory"][0]["id"]
        folder = f"user/{memories.bo.user_id}/"
        grant = {"source_id": "memory", "to": f"user:{memories.ana.user}", "folder": folder}
        await memories.call(memories.ana, "admin.grant", **grant, role="reader")
        got = await memories.call(memories.ana, "memory_get", id=id_)
        assert got["memory"]["text"] == SECRET
        await memories.call(memories.ana, "admin.grant", **grant, role=None)
        with pytest.raises(NotFound):
            await memories.call(memories.ana, "memory_get", id=id_)
        log = await memories.call(memories.ana, "admin.list_audit", tool="admin.grant")
        assert [it["status"] for it in log["rows"]] == ["ok", "ok"]


async def test_a_source_of_memories_that_is_opened_still_shows_no_private_one(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    async with open_memories(database, tmp_path / "home") as memories:
        await memories.remember(memories.bo, SECRET)
        async with memories.app.store.system() as tx:
            await tx.execute("UPDATE kernel.source SET trim_mode = 'open' WHERE id = 'memory'")
        assert (await memories.call(memories.cy, "lake.list_files", source_id="memory"))[
            "files"
        ] == []
        assert await memories.recall(memories.bo, "spare key") == [SECRET]


async def test_what_is_shared_is_read_by_all_and_changed_by_its_owner(memories: Memories) -> None:
    team = memories.within(workspace_mode="shared")
    made = await team.remember(memories.bo, "Releases are cut on Tuesdays.")
    id_ = made["memory"][0]["id"]
    assert await team.recall(memories.cy, "when are releases cut") == [
        "Releases are cut on Tuesdays."
    ]
    got = await team.call(memories.cy, "memory_get", id=id_)
    assert got["memory"]["mine"] is False
    gone = await team.call(memories.cy, "memory_delete", ids=[id_])
    assert (gone["success"], gone["deleted"], gone["notYours"]) == (False, [], [id_])
    # What extends somebody else's memory is kept beside it.
    more = await team.remember(memories.cy, "Releases are cut on Tuesdays, by whoever is on duty.")
    assert more["memory"][0]["event"] == "ADD"
    again = await team.remember(memories.cy, "Releases are cut on Tuesdays.")
    assert (again["memory"][0]["event"], again["memory"][0]["id"]) == ("NONE", id_)
    # Alone, one searches one's own.
    assert await memories.recall(memories.ana, "when are releases cut") == []


async def test_what_is_told_in_private_takes_the_place_of_nothing_that_is_shared(
    memories: Memories,
) -> None:
    shared = memories.within(workspace_mode="shared")
    await shared.remember(memories.bo, "The safe opens with a code.")
    made = await memories.remember(memories.bo, "The safe opens with a code, which is 4711.")
    assert made["memory"][0]["event"] == "ADD"
    assert await shared.recall(memories.cy, "safe code") == ["The safe opens with a code."]


@pytest.mark.parametrize(
    ("kept", "asked", "found"),
    [
        (("u1", "p1"), ("u1", "p1"), True),
        (("u1", "p1"), ("u2", "p1"), True),
        (("u1", "p1"), ("u1", "p2"), True),
        (("u1", "p1"), ("u2", "p2"), False),
        ((None, "p1"), ("u2", "p2"), True),
        (("u1", "p1"), ("u2", None), True),
    ],
)
async def test_in_shared_mode_user_or_project_must_match_where_both_are_named(
    memories: Memories,
    kept: tuple[str | None, str | None],
    asked: tuple[str | None, str | None],
    found: bool,
) -> None:
    text = "The queue drains in four minutes."
    shared = memories.within(workspace_mode="shared")
    await shared.within(user_label=kept[0], project_name=kept[1]).remember(memories.bo, text)
    seen = shared.within(user_label=asked[0], project_name=asked[1])
    assert await seen.recall(memories.cy, "queue drains") == ([text] if found else [])
    assert await seen.listed(memories.cy) == ([text] if found else [])


async def test_a_project_sees_its_own_unless_asked_to_look_further(memories: Memories) -> None:
    north, south = memories.within(project_name="north/*"), memories.within(project_name="south")
    await north.remember(memories.bo, "The north tower has nine floors.")
    await south.remember(memories.bo, "The south tower has four floors.")
    await memories.remember(memories.bo, "The gate between both towers is never closed.")
    ask = {"similarity_threshold": 0}
    assert await north.recall(memories.bo, "tower", **ask) == ["The north tower has nine floors."]
    assert await south.listed(memories.bo) == ["The south tower has four floors."]
    assert len(await north.recall(memories.bo, "tower", all_projects=True, **ask)) == 3
    assert len(await memories.recall(memories.bo, "tower", **ask)) == 3
    # What the session says wins over what a call says.
    await north.remember(memories.bo, "North has a lift.", memoryMetadata={"projectId": "south"})
    assert "North has a lift." in await north.listed(memories.bo)


@pytest.mark.requirement("memory.instances.own_collection")
async def test_collections_never_see_each_other(memories: Memories) -> None:
    name = uuid4().hex
    front = memories.within(collection=f"frontend-{name}")
    back = memories.within(collection=f"backend-{name}")
    await front.remember(memories.bo, "Buttons are blue.")
    await back.remember(memories.bo, "Tables are partitioned by tenant.")
    ask = {"similarity_threshold": 0}
    assert await front.recall(memories.bo, "anything", **ask) == ["Buttons are blue."]
    assert await back.recall(memories.bo, "anything", **ask) == [
        "Tables are partitioned by tenant."
    ]


async def test_a_session_setting_that_means_nothing_is_refused(memories: Memories) -> None:
    with pytest.raises(InvalidFormat) as refused:
        await memories.within(workspace_mode="open").listed(memories.bo)
    assert refused.value.fields["field"] == "memory.workspace_mode"


async def test_a_token_that_may_only_read_remembers_nothing(memories: Memories) -> None:
    reader = await member(memories.app, memories.ana, f"di-{uuid4().hex}", ["pecia.search"])
    with pytest.raises(Forbidden):
        await memories.remember(reader, SECRET)
    assert await memories.recall(reader, "key") == []


async def test_a_memory_is_found_by_the_lake_under_the_same_rights(memories: Memories) -> None:
    await memories.remember(memories.bo, SECRET)
    listed = await memories.call(memories.bo, "lake.list_files", source_id="memory", limit=200)
    own = {it["key"] for it in listed["files"] if it["key"].startswith("user/")}
    assert all(it.startswith(f"user/{memories.bo.user_id}/") for it in own)
    seen = await memories.call(memories.cy, "lake.list_files", source_id="memory", limit=200)
    assert own
    assert not own & {it["key"] for it in seen["files"]}


async def test_what_a_purged_user_kept_or_shared_goes_with_them(memories: Memories) -> None:
    name = f"el-{uuid4().hex}"
    gone = await member(memories.app, memories.ana, name)
    shared = memories.within(workspace_mode="shared")
    await memories.remember(gone, "El keeps a diary.")
    await shared.remember(gone, "El shared this recipe.")
    await memories.call(gone, "cipher_add_node", id="el", labels=["Person"])
    await memories.app.call(memories.ana, "admin.purge_user", {"user": name}, CONTEXT)
    async with memories.app.store.system() as tx:
        left = await tx.fetch_all(
            "SELECT 1 FROM kernel.revision WHERE text LIKE 'El %%' UNION ALL"
            " SELECT 1 FROM memory.node WHERE id = 'el'"
        )
    assert left == []


async def test_whoever_governs_the_source_decides_who_reads_what_is_shared(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    async with open_memories(database, tmp_path / "home") as opened:
        team = opened.within(workspace_mode="shared")
        text = "The vault opens at nine."
        await team.remember(opened.bo, text)
        assert await team.recall(opened.cy, "vault") == [text]

        async def grant(to: str, role: str | None) -> None:
            asked = {"source_id": "memory", "to": to, "role": role, "folder": "shared/"}
            await opened.call(opened.ana, "admin.grant", **asked)

        await grant("everyone", None)
        # Another memory does not bring the right back.
        await team.remember(opened.bo, "The vault closes at noon.")
        assert await team.recall(opened.cy, "vault", similarity_threshold=0) == []
        assert len(await team.recall(opened.bo, "vault")) == 2
        await grant("user:cy", "reader")
        assert len(await team.recall(opened.cy, "vault")) == 2
