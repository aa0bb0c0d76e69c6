"""What of a call's arguments the audit keeps, of a tool that is not ours."""

from collections.abc import Mapping

from pecia.kernel.errors import Json
from pecia.kernel.identity.caller import Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import ForeignTool, ToolResult
from pecia.kernel.tool.validate import HIDDEN, redact_arguments


async def run(call: Call, arguments: Mapping[str, Json]) -> ToolResult:
    return ToolResult()


def foreign(properties: Json) -> ForeignTool:
    schema: dict[str, Json] = {"type": "object", "properties": properties}
    return ForeignTool("hub", "log_in", Scope.WRITE, "Logs in.", schema, run)


def test_what_a_tool_of_others_calls_a_password_or_like_one_is_not_audited() -> None:
    secrets = ("password", "dbPassphrase", "api_key", "APIKey", "access_token", "client-secret")
    told: dict[str, Json] = {name: {"type": "string"} for name in (*secrets, "user", "keyboard")}
    marked: dict[str, Json] = {"pin": {"format": "password"}, "code": {"writeOnly": True}}
    given: dict[str, Json] = dict.fromkeys({*told, *marked}, "s3cret")
    kept = redact_arguments(foreign({**told, **marked}), given)
    assert {name for name, it in kept.items() if it != HIDDEN} == {"user", "keyboard"}


def test_a_schema_that_says_nothing_hides_everything() -> None:
    assert redact_arguments(foreign(["no object"]), {"user": "ana"}) == {"user": HIDDEN}
