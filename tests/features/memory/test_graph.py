"""The knowledge graph of a user: added to, asked, filled from a text, changed in bulk."""

from typing import Any
from uuid import uuid4

import pytest

from pecia.kernel.errors import InvalidFormat, OutOfRange
from pecia.kernel.identity.caller import Caller
from tests.features.memory.conftest import Memories, member

pytestmark = pytest.mark.anyio


class Drawing:
    """A graph of somebody who has no other."""

    def __init__(self, memories: Memories, who: Caller) -> None:
        self.memories = memories
        self.who = who

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return await self.memories.call(self.who, f"cipher_{tool}", **arguments)

    async def draw(self) -> None:
        for id_, label, name in (
            ("api", "Service", "Orders API"),
            ("db", "Database", "Orders database"),
            ("web", "Service", "Web shop"),
        ):
            await self.call("add_node", id=id_, labels=[label], properties={"name": name})
        await self.call("add_edge", sourceId="api", targetId="db", edgeType="USES")
        await self.call("add_edge", sourceId="web", targetId="api", edgeType="CALLS")


@pytest.fixture
async def drawing(memories: Memories) -> Drawing:
    return Drawing(memories, await member(memories.app, memories.ana, f"u-{uuid4().hex}"))


async def test_nodes_and_edges_are_added_changed_and_removed(drawing: Drawing) -> None:
    await drawing.draw()
    twice = await drawing.call("add_node", id=" api ", labels=["X"])
    assert (twice["success"], twice["message"]) == (
        False,
        "Node 'api' already exists in the knowledge graph",
    )
    loose = await drawing.call("add_edge", sourceId="api", targetId="none", edgeType="USES")
    assert loose["success"] is False
    changed = await drawing.call("update_node", nodeId="api", properties={"port": 80})
    assert changed["node"]["properties"] == {"name": "Orders API", "port": 80}
    missing = await drawing.call("update_node", nodeId="none", properties={"a": 1})
    assert missing["success"] is False
    assert (await drawing.call("delete_node", id="none"))["success"] is True
    assert (await drawing.call("delete_node", id="api"))["success"] is True
    left = (await drawing.call("search_graph"))["results"]
    assert ([it["id"] for it in left["nodes"]], left["edges"]) == (["db", "web"], [])
    with pytest.raises(OutOfRange):
        await drawing.call("add_node", id="x", labels=[])


async def test_neighbours_have_a_direction_and_a_limit(drawing: Drawing) -> None:
    await drawing.draw()

    async def around(**asked: Any) -> list[str]:
        found = await drawing.call("get_neighbors", nodeId="api", **asked)
        return sorted(it["node"]["id"] for it in found["neighbors"])

    assert await around() == ["db", "web"]
    assert await around(direction="in") == ["web"]
    assert await around(direction="out") == ["db"]
    assert await around(edgeTypes=["USES"]) == ["db"]
    assert len(await around(limit=1)) == 1
    assert (await drawing.call("get_neighbors", nodeId="none"))["success"] is False


async def test_a_graph_is_searched_by_labels_properties_and_words(drawing: Drawing) -> None:
    await drawing.draw()
    await drawing.call("update_node", nodeId="db", properties={"size": 7, "tags": ["a", "b"]})

    async def found(**asked: Any) -> list[str]:
        results = (await drawing.call("search_graph", **asked))["results"]
        return [it["id"] for it in results["nodes"]]

    assert await found(nodeLabels=["Service"]) == ["api", "web"]
    assert await found(labels=["Database"]) == ["db"]
    assert await found(properties={"size": {"gte": 7, "lt": 8}}) == ["db"]
    assert await found(properties={"size": {"gt": 7}}) == []
    assert await found(properties={"tags": {"any": ["b", "z"]}}) == ["db"]
    assert await found(properties={"tags": {"all": ["b", "z"]}}) == []
    assert await found(textSearch="web SHOP") == ["web"]
    capped = (await drawing.call("search_graph", limit=2))["results"]
    assert (capped["totalCount"], capped["searchMetadata"]["truncated"]) == (5, True)
    with pytest.raises(InvalidFormat):
        await found(properties={"size": {"gte": 7, "about": 8}})


async def test_simple_patterns_are_answered_and_others_are_told(drawing: Drawing) -> None:
    await drawing.draw()

    async def found(query: str, kind: str, **more: Any) -> dict[str, Any]:
        return await drawing.call("query_graph", query=query, queryType=kind, **more)

    def ids(told: dict[str, Any]) -> list[str]:
        return [it["id"] for it in told["results"]["nodes"]]

    assert ids(await found("Service", "node")) == ["api", "web"]
    named = "MATCH (n:Service {name: $name}) RETURN n"
    assert ids(await found(named, "cypher", parameters={"name": "Web shop"})) == ["web"]
    edges = await found("(a:Service)-[r:CALLS]->(b)", "cypher")
    assert [it["type"] for it in edges["results"]["edges"]] == ["CALLS"]
    assert (await found("(a:Database)-[r:USES]->(b)", "cypher"))["results"]["edges"] == []
    assert (await found("(a:Database)<-[r:USES]-(b)", "cypher"))["results"]["edges"]
    path = await found("web -> db", "path")
    assert [it["type"] for it in path["results"]["edges"]] == ["CALLS", "USES"]
    odd = await found("MATCH p=(a)-[*1..5]->(b) DELETE a", "cypher")
    assert odd["success"] is False
    assert "Unsupported pattern" in odd["message"]


async def test_things_are_found_though_spelled_otherwise_with_what_is_near(
    drawing: Drawing,
) -> None:
    await drawing.draw()
    found = await drawing.call("enhanced_search", query="Where is the Ordes database?")
    best = found["results"]["nodes"][0]
    assert best["id"] == "db"
    assert best["matchReason"]
    near = {(it["entity"]["id"], it["distance"]) for it in found["results"]["related"]}
    others = {it["id"] for it in found["results"]["nodes"]}
    assert near <= {("api", 1), ("web", 1), ("web", 2)}
    assert near or "api" in others
    nothing = await drawing.call("enhanced_search", query="quantum")
    assert nothing["results"]["totalCount"] == 0


async def test_a_text_fills_the_graph_once(drawing: Drawing) -> None:
    text = "The OrderService uses PostgreSQL. OrderService calls send_mail() in src/mail/send.py."
    made = await drawing.call("extract_entities", text=text)
    names = {it["name"]: it["type"] for it in made["entities"]}
    assert names["OrderService"] == "Class"
    assert names["postgresql"] == "Technology"
    assert names["src/mail/send.py"] == "File"
    assert "USES" in {it["type"] for it in made["relationships"]}
    again = await drawing.call("extract_entities", text=text)
    assert again["message"] == "0 nodes and 0 edges were added"
    only = await drawing.call("extract_entities", text=text, options={"entityTypes": ["file"]})
    assert {it["type"] for it in only["entities"]} == {"File"}


async def test_known_names_are_taken_for_what_they_are(drawing: Drawing) -> None:
    await drawing.call(
        "add_node", id="svc-1", labels=["Service"], properties={"name": "OrderService"}
    )
    made = await drawing.call("intelligent_processor", text="Now OrderService uses Redis.")
    ids = {it["name"]: it["id"] for it in made["entities"]}
    assert ids["OrderService"] == "svc-1"
    assert [(it["startNodeId"], it["type"]) for it in made["relationships"]] == [("svc-1", "USES")]


async def test_changes_in_bulk_are_planned_until_they_are_wanted(drawing: Drawing) -> None:
    await drawing.draw()
    asked: dict[str, Any] = {"instruction": "Merge Web shop into Orders API"}
    planned = await drawing.call("relationship_manager", **asked)
    assert (planned["dryRun"], planned["success"]) == (True, True)
    assert planned["changes"] == ["merge web into api, with 0 edges"]
    assert len((await drawing.call("search_graph"))["results"]["nodes"]) == 3
    done = await drawing.call("relationship_manager", **asked, options={"dryRun": False})
    assert done["operation"] == "merge_entities"
    left = (await drawing.call("search_graph"))["results"]
    assert [it["id"] for it in left["nodes"]] == ["api", "db"]
    assert [it["type"] for it in left["edges"]] == ["USES"]
    renamed = await drawing.call(
        "relationship_manager",
        instruction="Change USES to READS",
        options={"dryRun": False},
    )
    assert renamed["affected"] == 1
    [edge] = (await drawing.call("search_graph", searchType="edges"))["results"]["edges"]
    assert (edge["type"], edge["properties"]) == ("READS", {"previousType": "USES"})
    odd = await drawing.call("relationship_manager", instruction="Make it nice")
    assert (odd["success"], odd["affected"]) == (False, 0)
    bulk: dict[str, Any] = {
        "instruction": "x",
        "operation": "bulk_update",
        "targets": {"properties": {"seen": True}},
    }
    few = await drawing.call("relationship_manager", **bulk, options={"bulkLimit": 1})
    assert few["success"] is False
    await drawing.call("relationship_manager", **bulk, options={"dryRun": False})
    found = await drawing.call("search_graph", properties={"seen": True})
    assert found["results"]["totalCount"] == 2


async def test_a_graph_is_its_owners_alone(drawing: Drawing) -> None:
    await drawing.draw()
    for other in (drawing.memories.ana, drawing.memories.cy):
        theirs = Drawing(drawing.memories, other)
        assert (await theirs.call("search_graph"))["results"]["totalCount"] == 0
        assert (await theirs.call("get_neighbors", nodeId="api"))["success"] is False
        await theirs.call("delete_node", id="api")
        await theirs.call("add_node", id="api", labels=["Mine"])
        await theirs.call("delete_node", id="api")
    assert (await drawing.call("search_graph"))["results"]["totalCount"] == 5


async def test_names_that_differ_in_a_sign_are_two_entities(drawing: Drawing) -> None:
    text = "See src/a_b.py, src/a-b.py and src/A_b.py, and ask @bo-1, @bo_1 or @BO_1."
    made = await drawing.call("extract_entities", text=text)
    names = [it["name"] for it in made["entities"]]
    assert names == ["src/a_b.py", "src/a-b.py", "src/A_b.py", "bo-1", "bo_1"]
    assert len({it["id"] for it in made["entities"]}) == len(names)
    again = await drawing.call("extract_entities", text=text)
    assert not any(it["created"] for it in again["entities"])
