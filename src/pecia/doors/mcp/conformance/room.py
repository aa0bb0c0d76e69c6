"""The fixtures of the MCP conformance suite as a room. Served only where a test asks for it.

Its tools go through the corridor like all others: what the suite proves, it proves of every room.
"""

from pecia.doors.mcp.changes import Changes
from pecia.doors.mcp.conformance.questions import question_tools
from pecia.doors.mcp.conformance.shelf import prompts, resource, template
from pecia.doors.mcp.conformance.tasks import task_tools
from pecia.doors.mcp.conformance.tools import plain_tools
from pecia.kernel.room import Room


def conformance_room(changes: Changes) -> Room:
    """The room that the suite is pointed at."""
    return Room(
        "conformance",
        tools=(*plain_tools(changes), *question_tools(), *task_tools()),
        resources=(resource(),),
        templates=(template(),),
        prompts=prompts(),
    )
