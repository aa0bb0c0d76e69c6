"""`pecia smoke`: initializes with an MCP server, lists its tools, calls one. Changes nothing."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from pecia.interfaces.cli.output.terminal import Terminal, terminal_of
from pecia.interfaces.cli.server.client import ServerClient
from pecia.interfaces.cli.server.credentials import token_for_url
from pecia.interfaces.cli.settings import load_settings
from pecia.kernel.errors import Json, UpstreamError

PROTOCOL_VERSION = "2025-11-25"
INITIALIZE_PARAMS: Mapping[str, Json] = {
    "protocolVersion": PROTOCOL_VERSION,
    "capabilities": {},
    "clientInfo": {"name": "pecia-smoke", "version": "1"},
}


def smoke(
    ctx: typer.Context,
    api_url: Annotated[str, typer.Option(help="The URL of the server.")],
    path: Annotated[str, typer.Option(help="The endpoint to try.")] = "/mcp",
    token_stdin: Annotated[bool, typer.Option(help="Read the token from stdin.")] = False,
) -> None:
    """Try an MCP server: initialize, tools/list, tools/call. The token is PECIA_TOKEN."""
    terminal = terminal_of(ctx)
    url = api_url.rstrip("/")
    given = sys.stdin.readline().strip() if token_stdin else token_for_url(_home(terminal), url)
    steps = run_steps(terminal, ServerClient(url, given), path)
    terminal.print_result({"steps": steps}, lambda it: it.print_line("all three steps passed"))


def _home(terminal: Terminal) -> Path:
    return load_settings(terminal).kernel.home


def run_steps(terminal: Terminal, server: ServerClient, path: str) -> dict[str, Json]:
    """The result of each step. An error names the step that failed."""
    hello = run_step(server, path, "initialize", INITIALIZE_PARAMS)
    spoken = hello.get("protocolVersion")
    terminal.info(f"initialize: {hello.get('serverInfo', {}).get('name')}, revision {spoken}")
    tools = run_step(server, path, "tools/list", {}).get("tools", [])
    terminal.info(f"tools/list: {len(tools)} tools")
    name, arguments = choose_tool(tools)
    called = run_step(server, path, "tools/call", {"name": name, "arguments": arguments})
    if called.get("isError"):
        said = called["content"][0]["text"]
        raise UpstreamError(f"tools/call failed: {name} said {said}", step="tools/call", tool=name)
    terminal.info(f"tools/call: {name} answered")
    return {"initialize": spoken, "tools/list": len(tools), "tools/call": name}


def choose_tool(tools: list[dict[str, Any]]) -> tuple[str, dict[str, Json]]:
    """A tool that changes nothing, and arguments that it takes."""
    for tool in tools:
        needed = tool["inputSchema"].get("required", [])
        harmless = tool.get("annotations", {}).get("readOnlyHint", False)
        if harmless and not needed:
            return tool["name"], {}
        if harmless and needed == ["query"]:
            return tool["name"], {"query": "search"}
    raise UpstreamError(
        "tools/call failed: this server has no read-only tool to try", step="tools/call"
    )


def run_step(
    server: ServerClient, path: str, method: str, params: Mapping[str, Json]
) -> dict[str, Any]:
    """One request; its result, or an error that names the step."""
    body: dict[str, Json] = {"jsonrpc": "2.0", "id": 1, "method": method, "params": dict(params)}
    answer = server.request("POST", path, body)
    document = answer.json()
    found = cast(dict[str, Any], document) if isinstance(document, dict) else {}
    result = found.get("result")
    if not isinstance(result, dict):
        said = found.get("error", {}).get("message", f"status {answer.status}")
        raise UpstreamError(f"{method} failed: {said}", step=method, status=answer.status)
    return cast(dict[str, Any], result)
