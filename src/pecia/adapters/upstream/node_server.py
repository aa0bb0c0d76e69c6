"""Reads another MCP server whole: by its nodes, by the tools of a cascade, or by its resources.

Its content is passed on as it is, and never trusted: the caller checks every field.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote, urlsplit

from pecia.adapters.upstream.stdio_client import (
    StdioClient,
    StdioClientLimits,
    StdioRequestRefused,
    open_stdio_client,
)
from pecia.kernel.errors import InvalidInput, Json, UpstreamError
from pecia.kernel.text.yaml.writer import dump_yaml

VERSION = "2025-06-18"
INITIALIZE_PARAMS = {
    "protocolVersion": VERSION,
    "capabilities": {},
    "clientInfo": {"name": "pecia", "version": "1"},
}
NODE_TOOLS = frozenset({"list_nodes", "get_node"})
CONCEPT_TOOLS = frozenset({"list_concepts", "read_file"})
UNSUPPORTED_MESSAGE = (
    "it has neither list_nodes and get_node, nor list_concepts and read_file, nor resources"
)


@dataclass(frozen=True, slots=True)
class NodeServerContent:
    """The content of a server: nodes, or Markdown pages by path; and refused names with reasons.

    Which of the two depends on the server, not on the caller.
    """

    nodes: list[Mapping[str, Any]] = field(default_factory=list[Mapping[str, Any]])
    pages: dict[str, str] = field(default_factory=dict[str, str])
    refused: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class NodeServerReader:
    """Starts the programs that trusted manifests name, reads everything once, stops them."""

    path: str = "/usr/local/bin:/usr/bin:/bin"
    bounds: StdioClientLimits = field(default_factory=StdioClientLimits)

    async def read(self, argv: Sequence[str], folder: Path) -> NodeServerContent:
        """Everything the server has, by the first method it supports."""
        async with open_stdio_client(argv, folder, self.path, self.bounds) as talk:
            hello = await talk.request("initialize", INITIALIZE_PARAMS)
            await talk.notify("notifications/initialized")
            tools = await _list_tools(talk)
            if tools >= NODE_TOOLS:
                return await _read_nodes(talk)
            if tools >= CONCEPT_TOOLS:
                return await _read_concepts(talk)
            if "resources" in _mapping(_mapping(hello).get("capabilities")):
                return await _read_resources(talk)
            raise UpstreamError(UNSUPPORTED_MESSAGE)


async def _list_tools(talk: StdioClient) -> set[str]:
    """The names of its tools. If it cannot list them, it is taken for a server of nodes."""
    try:
        return {name async for it in _list_all(talk, "tools") if (name := _text(it.get("name")))}
    except StdioRequestRefused:
        return {*NODE_TOOLS}


async def _read_nodes(talk: StdioClient) -> NodeServerContent:
    content = NodeServerContent()
    found = _mapping(await talk.call_tool("list_nodes", {})).get("nodes")
    if not isinstance(found, list):
        raise UpstreamError("list_nodes did not return a list of nodes")
    for name in _texts(cast(list[object], found))[: talk.bounds.max_items]:
        try:
            node: object = await talk.call_tool("get_node", {"id": name})
        except StdioRequestRefused as error:
            content.refused[name] = error.message
        else:
            # null: there is no such node after all.
            if isinstance(node, dict):
                content.nodes.append(cast(Mapping[str, Any], node))
    return content


async def _read_concepts(talk: StdioClient) -> NodeServerContent:
    """Another cascade: what it resolved is what it says here, its own dissent left to itself."""
    content = NodeServerContent()
    found: object = await talk.call_tool("list_concepts", {})
    # Bare, as the reference has it, or as a part of an object.
    whole = _mapping(found)
    listed: object = whole.get("concepts") if whole else found
    if not isinstance(listed, list):
        raise UpstreamError("list_concepts did not return a list of concepts")
    ids = _texts([_mapping(it).get("id") for it in cast(list[object], listed)])
    for concept in ids[: talk.bounds.max_items]:
        try:
            value = _mapping(await talk.call_tool("read_file", {"concept_id": concept}))
            content.pages[f"{concept}.md"] = _page(value)
        except (StdioRequestRefused, InvalidInput) as error:
            content.refused[concept] = error.message
    return content


async def _read_resources(talk: StdioClient) -> NodeServerContent:
    content = NodeServerContent()
    found = [uri async for it in _list_all(talk, "resources") if (uri := _text(it.get("uri")))]
    for uri in found[: talk.bounds.max_items]:
        try:
            answer = _mapping(await talk.request("resources/read", {"uri": uri}))
        except StdioRequestRefused as error:
            content.refused[uri] = error.message
            continue
        contents = [_mapping(it) for it in _list(answer.get("contents"))]
        text, path = _text(contents[0].get("text")) if contents else None, _path(uri)
        if text is None or path in content.pages:
            content.refused[uri] = "it is no text" if text is None else f"{path} is there already"
        else:
            content.pages[path] = text
    return content


async def _list_all(talk: StdioClient, what: str) -> AsyncGenerator[Mapping[str, Any]]:
    """Every entry of a list, page by page, up to the limit."""
    cursor: str | None = None
    seen = 0
    while seen < talk.bounds.max_items:
        answer = _mapping(await talk.request(f"{what}/list", {"cursor": cursor} if cursor else {}))
        listed = _list(answer.get(what))
        for it in listed:
            yield _mapping(it)
        seen += len(listed)
        cursor = _text(answer.get("nextCursor"))
        if cursor is None or not listed:
            return


def _page(value: Mapping[str, Any]) -> str:
    """A resolved concept as a document: what is hidden stays out."""
    frontmatter = cast(dict[str, Json], dict(_mapping(value.get("frontmatter"))))
    parts = [f"---\n{dump_yaml(frontmatter) if frontmatter else ''}---"]
    for it in _list(value.get("sections")):
        section = _mapping(it)
        if not section.get("suppressed"):
            parts += filter(None, (_text(section.get("heading")), _text(section.get("content"))))
    return "\n\n".join(parts) + "\n"


def _path(uri: str) -> str:
    """The path that a URI names; the host only where there is nothing else."""
    parts = urlsplit(uri)
    path = unquote(parts.path.strip("/") or parts.netloc or parts.path)
    return path if path.lower().endswith(".md") else f"{path}.md"


def _texts(values: Sequence[object]) -> list[str]:
    return [it for it in values if isinstance(it, str)]


def _list(value: object) -> list[object]:
    return cast(list[object], value) if isinstance(value, list) else []


def _mapping(value: object) -> Mapping[str, Any]:
    return cast(Mapping[str, Any], value) if isinstance(value, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
