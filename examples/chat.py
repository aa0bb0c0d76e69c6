"""A chat over your documents with a model of your own: nothing here leaves the machine.

    python examples/chat.py --model qwen3 "How many days of leave do I have?"
    python examples/chat.py --model qwen3 --page 8080

The model is any server that speaks OpenAI's `/v1/chat/completions` with tools, as Ollama, llama.cpp
and vLLM do. Pecia is asked over MCP, like any other client asks it.
"""

import argparse
import json
import os
from contextlib import AsyncExitStack
from html import escape
from typing import Any

import anyio
import httpx2
import uvicorn
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import TextContent
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route

# Searching, searching again and reading take a few turns; a model in a loop takes all of them.
MOST_TURNS = 12

PAGE = """<!doctype html><meta charset="utf-8"><title>Ask the documents</title>
<style>body{{font:16px/1.5 system-ui;max-width:44rem;margin:3rem auto;padding:0 1rem}}
textarea{{width:100%;font:inherit}}pre{{white-space:pre-wrap;font:inherit}}</style>
<form method="post"><label for="q">Your question</label>
<textarea id="q" name="question" rows="3" required>{question}</textarea>
<button>Ask</button></form><pre>{answer}</pre>"""


async def answer(question: str, asked: argparse.Namespace) -> str:
    """What the model says after it searched and read."""
    async with AsyncExitStack() as stack:
        token = os.environ.get("PECIA_TOKEN")
        headers = {"authorization": f"Bearer {token}"} if token else {}
        http = await stack.enter_async_context(httpx2.AsyncClient(headers=headers, timeout=60))
        transport = streamable_http_client(asked.pecia, http_client=http)
        pecia = await stack.enter_async_context(Client(transport))
        model = await stack.enter_async_context(
            httpx2.AsyncClient(base_url=asked.endpoint, timeout=600)
        )
        return await talk(pecia, model, asked.model, question)


async def talk(pecia: Client, model: httpx2.AsyncClient, name: str, question: str) -> str:
    prompt = await pecia.get_prompt("answer-from-sources", {"question": question})
    texts = [it.content.text for it in prompt.messages if isinstance(it.content, TextContent)]
    messages: list[dict[str, Any]] = [{"role": "user", "content": it} for it in texts]
    tools = [
        {
            "type": "function",
            "function": {
                "name": it.name,
                "description": it.description,
                "parameters": it.input_schema,
            },
        }
        for it in (await pecia.list_tools()).tools
    ]
    for _ in range(MOST_TURNS):
        sent = {"model": name, "messages": messages, "tools": tools}
        reply = await model.post("chat/completions", json=sent)
        reply.raise_for_status()
        said = reply.json()["choices"][0]["message"]
        messages.append(said)
        calls = said.get("tool_calls")
        if not calls:
            return said["content"]
        messages += [await called(pecia, it) for it in calls]
    return f"The model went on searching and gave no answer in {MOST_TURNS} turns."


async def called(pecia: Client, call: dict[str, Any]) -> dict[str, Any]:
    """One call of a tool, as the model's next message. What fails is for the model to mend."""
    asked = call["function"]
    try:
        arguments = json.loads(asked["arguments"] or "{}")
    except ValueError as error:
        content = f"the arguments are not JSON: {error}"
    else:
        result = await pecia.call_tool(asked["name"], arguments)
        content = (
            json.dumps(result.structured_content) if not result.is_error else str(result.content)
        )
    return {"role": "tool", "tool_call_id": call["id"], "content": content}


def page(asked: argparse.Namespace) -> Starlette:
    async def show(request: Request) -> HTMLResponse:
        question = said = ""
        if request.method == "POST":
            question = str((await request.form())["question"])
            said = await answer(question, asked)
        return HTMLResponse(PAGE.format(question=escape(question), answer=escape(said)))

    return Starlette(routes=[Route("/", show, methods=["GET", "POST"])])


def main() -> None:
    words = argparse.ArgumentParser(description="Ask a model of your own about your documents.")
    words.add_argument("question", nargs="?")
    words.add_argument("--page", type=int, metavar="PORT", help="serve a page instead")
    words.add_argument("--model", required=True)
    words.add_argument("--endpoint", default="http://127.0.0.1:11434/v1/")
    words.add_argument("--pecia", default="http://127.0.0.1:7324/mcp/lake")
    asked = words.parse_args()
    if asked.page:
        uvicorn.run(page(asked), host="127.0.0.1", port=asked.page)
    elif asked.question:
        print(anyio.run(answer, asked.question, asked))
    else:
        words.error("give a question, or --page PORT")


if __name__ == "__main__":
    main()
