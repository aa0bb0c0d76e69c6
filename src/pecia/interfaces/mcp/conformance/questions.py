"""Fixtures that ask the client: forms, its model, its folders; in one round or in several."""

from collections.abc import Mapping

import orjson

from pecia.interfaces.mcp.conformance.fixture import (
    FixtureHandler,
    fixture,
    form_schema,
    text_result,
)
from pecia.kernel.errors import Json
from pecia.kernel.tool.call import Call, ClientInquiry, Elicitation, RootsRequest, SamplingRequest
from pecia.kernel.tool.model import AnyTool, ToolResult

STRING: Json = {"type": "string"}
OPTIONS: Json = ["option1", "option2", "option3"]
TITLED: Json = [
    {"const": f"value{number}", "title": f"{word} Option"}
    for number, word in enumerate(("First", "Second", "Third"), 1)
]

DEFAULTS: dict[str, Json] = {
    "name": {"type": "string", "description": "User name", "default": "John Doe"},
    "age": {"type": "integer", "description": "User age", "default": 30},
    "score": {"type": "number", "description": "User score", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "description": "Verified", "default": True},
}

ENUMS: dict[str, Json] = {
    "untitledSingle": {"type": "string", "enum": OPTIONS},
    "titledSingle": {"type": "string", "oneOf": TITLED},
    "legacyEnum": {
        "type": "string",
        "enum": ["opt1", "opt2", "opt3"],
        "enumNames": ["Option One", "Option Two", "Option Three"],
    },
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": OPTIONS}},
    "titledMulti": {"type": "array", "items": {"anyOf": TITLED}},
}

NAME = Elicitation("What is your name?", form_schema(name=STRING))
CAPITAL = SamplingRequest(
    [{"role": "user", "content": {"type": "text", "text": "What is the capital of France?"}}], 100
)
GREETING = SamplingRequest(
    [{"role": "user", "content": {"type": "text", "text": "Generate a greeting"}}], 50
)

PREFIX = "test_input_required_result"


def question_tools() -> tuple[AnyTool, ...]:
    """Every fixture that asks."""
    return (
        fixture("test_sampling", _sample, form_schema(prompt=STRING)),
        fixture("test_elicitation", _elicit, form_schema(message=STRING)),
        fixture("test_elicitation_sep1034_defaults", _ask_form(DEFAULTS)),
        fixture("test_elicitation_sep1330_enums", _ask_form(ENUMS)),
        fixture("test_missing_capability", _ask_and_return({"capital": CAPITAL})),
        fixture("test_streaming_elicitation", _stream),
        fixture(f"{PREFIX}_elicitation", _greet),
        fixture(f"{PREFIX}_sampling", _ask_and_return({"capital_question": CAPITAL})),
        fixture(f"{PREFIX}_list_roots", _ask_and_return({"client_roots": RootsRequest()})),
        fixture(f"{PREFIX}_request_state", _confirm),
        fixture(f"{PREFIX}_tampered_state", _confirm),
        fixture(
            f"{PREFIX}_multiple_inputs",
            _ask_and_return(
                {"user_name": NAME, "greeting": GREETING, "client_roots": RootsRequest()}
            ),
        ),
        fixture(f"{PREFIX}_capabilities", _ask_and_return({"user_name": NAME, "capital": CAPITAL})),
        fixture(f"{PREFIX}_multi_round", _two_rounds),
    )


def _ask_and_return(inquiries: Mapping[str, ClientInquiry]) -> FixtureHandler:
    """A handler that returns the answers."""

    async def run(call: Call, arguments: Mapping[str, Json]) -> ToolResult:
        told = await call.inquire(inquiries)
        return text_result(
            orjson.dumps({key: dict(it.content) for key, it in told.items()}).decode()
        )

    return run


def _ask_form(properties: Mapping[str, Json]) -> FixtureHandler:
    async def run(call: Call, arguments: Mapping[str, Json]) -> ToolResult:
        schema: dict[str, Json] = {"type": "object", "properties": {**properties}, "required": []}
        told = await call.elicit("form", "Please review and update the form", schema)
        content = orjson.dumps(dict(told.content)).decode()
        return text_result(f"Elicitation completed: action={told.action}, content={content}")

    return run


async def _sample(call: Call, arguments: Mapping[str, Json]) -> ToolResult:
    said: Json = {"type": "text", "text": arguments["prompt"]}
    return text_result(
        f"LLM response: {await call.sample([{'role': 'user', 'content': said}], 100)}"
    )


async def _elicit(call: Call, arguments: Mapping[str, Json]) -> ToolResult:
    told = await call.elicit(
        "user", str(arguments["message"]), form_schema(username=STRING, email=STRING)
    )
    return text_result(f"User response: {told.action} {dict(told.content)}")


async def _stream(call: Call, arguments: Mapping[str, Json]) -> ToolResult:
    await call.progress(0, 1)
    return await _greet(call, arguments)


async def _greet(call: Call, arguments: Mapping[str, Json]) -> ToolResult:
    told = (await call.inquire({"user_name": NAME}))["user_name"]
    return text_result(f"Hello, {told.content.get('name')}!")


async def _confirm(call: Call, arguments: Mapping[str, Json]) -> ToolResult:
    await call.elicit("confirm", "Please confirm", form_schema(ok={"type": "boolean"}))
    return text_result("state-ok")


async def _two_rounds(call: Call, arguments: Mapping[str, Json]) -> ToolResult:
    name = await call.elicit("step1", "Step 1: What is your name?", form_schema(name=STRING))
    color = await call.elicit(
        "step2", "Step 2: What is your favorite color?", form_schema(color=STRING)
    )
    return text_result(f"{name.content.get('name')} likes {color.content.get('color')}")
