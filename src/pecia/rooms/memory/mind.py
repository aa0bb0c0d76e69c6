"""What the room needs of a chat model, and nothing of how one is reached."""

from typing import Protocol

from pecia.kernel.tool.call import Call

DECISION_S = 30.0


class Mind(Protocol):
    """The model of a session, or the one that the operator configured. What it says is data."""

    async def say(self, call: Call, system: str, message: str, *, timeout_s: float) -> str:
        """Its answer; a PeciaError where this caller may not have it, or it does not answer."""
        ...
