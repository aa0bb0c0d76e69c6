"""The fixtures of the MCP conformance suite as a room. Served only where a test asks for it.

Its tools go through the corridor like all others: what the suite proves, it proves of every room.
"""

from pecia.interfaces.mcp.conformance.questions import question_tools
from pecia.interfaces.mcp.conformance.resources import prompts, resource, template
from pecia.interfaces.mcp.conformance.tasks import task_tools
from pecia.interfaces.mcp.conformance.tools import plain_tools
from pecia.interfaces.mcp.methods.subscriptions import Subscriptions
from pecia.kernel.feature import Feature


def conformance_feature(changes: Subscriptions) -> Feature:
    """The room that the suite is pointed at."""
    return Feature(
        "conformance",
        tools=(*plain_tools(changes), *question_tools(), *task_tools()),
        resources=(resource(),),
        templates=(template(),),
        prompts=prompts(),
    )
