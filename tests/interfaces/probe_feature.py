"""A feature for tests: tools that fail in every way, and some that wait for a signal."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import anyio
import anyio.lowlevel
from pydantic import Field

from pecia.kernel.errors import BadArgument, PeciaError
from pecia.kernel.feature import Feature
from pecia.kernel.identity.caller import Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import (
    AnyTool,
    ForeignTool,
    Input,
    Output,
    TextContent,
    Tool,
    ToolResult,
)


class Everything(Input):
    """One argument of every kind."""

    text: str = Field(min_length=3, max_length=10)
    word: str = Field(default="aaa", pattern="^[a-z]+$")
    count: int = Field(default=1, ge=1, le=9)
    color: Literal["red", "blue"] = "red"
    tags: list[str] = Field(default_factory=list, max_length=5)
    deep: bool = False


class Nothing(Input):
    pass


class Keyed(Input):
    key: str = Field(default="", json_schema_extra={"secret": True})


class Said(Output):
    text: str


@dataclass(slots=True)
class Probe:
    """What the tools share with the test."""

    failure: Callable[[], Exception] = lambda: RuntimeError("a detail nobody outside may read")
    calls: int = 0
    ended: bool = False
    started: anyio.Event = field(default_factory=anyio.Event)
    may_end: anyio.Event = field(default_factory=anyio.Event)

    async def echo(self, call: Call, ask: Everything) -> Said:
        """Say all of it again."""
        self.calls += 1
        return Said(text=ask.model_dump_json())

    async def fail(self, call: Call, ask: Nothing) -> Said:
        """Fail as the test wishes."""
        raise self.failure()

    async def wait(self, call: Call, ask: Nothing) -> Said:
        """Wait until the test lets go."""
        self.started.set()
        try:
            await self.may_end.wait()
            return Said(text="done")
        finally:
            with anyio.CancelScope(shield=True):
                # Tidying up takes its time, even when nobody waits for the answer.
                for _ in range(100):
                    await anyio.lowlevel.checkpoint()
            self.ended = True

    async def left(self, call: Call, ask: Nothing) -> Said:
        """How many seconds are left."""
        return Said(text=str(round(call.remaining_s())))

    async def write(self, call: Call, ask: Nothing) -> Said:
        """Change something, as far as anybody knows."""
        self.calls += 1
        return Said(text="written")

    async def keyed(self, call: Call, ask: Keyed) -> Said:
        """Take a secret."""
        return Said(text="kept")

    async def upstream(self, call: Call, arguments: object) -> ToolResult:
        return ToolResult(None, (TextContent("it did not work"),), is_error=True)

    async def wordy(self, call: Call, arguments: object) -> ToolResult:
        return ToolResult(None, (TextContent("only words"),))

    def feature(self) -> Feature:
        return Feature("probe", tools=self.tools())

    def tools(self) -> tuple[AnyTool, ...]:
        return (
            Tool("probe", "echo", Scope.READ, Everything, Said, self.echo),
            Tool("probe", "fail", Scope.READ, Nothing, Said, self.fail),
            Tool("probe", "wait", Scope.READ, Nothing, Said, self.wait),
            Tool("probe", "left", Scope.READ, Nothing, Said, self.left),
            Tool("probe", "open", Scope.READ, Nothing, Said, self.write, public=True),
            Tool("probe", "write", Scope.WRITE, Nothing, Said, self.write, read_only=False),
            Tool("probe", "keyed", Scope.READ, Keyed, Said, self.keyed),
            Tool("probe", "hidden", Scope.READ, Nothing, Said, self.write, hidden=True),
            _foreign("upstream", self.upstream),
            _foreign("wordy", self.wordy),
        )


def fails_with(kind: type[PeciaError]) -> Callable[[], Exception]:
    """A maker of that error."""

    def made() -> Exception:
        return kind("as asked", field="x") if issubclass(kind, BadArgument) else kind("as asked")

    return made


def _foreign(name: str, run: Callable[..., object]) -> ForeignTool:
    schema: dict[str, object] = {"type": "object", "properties": {}}
    return ForeignTool("probe", name, Scope.READ, "Somebody else's.", schema, run)  # pyright: ignore[reportArgumentType] - the handlers above
