"""What the reasoning tools take and give."""

from collections.abc import Sequence
from typing import Annotated, Any, cast

from pydantic import Field, model_validator

from pecia.kernel.tool.model import Input, Output
from pecia.rooms.memory.arguments import LONGEST_TEXT, UNAUDITED, Closed, Name, Open
from pecia.rooms.memory.evaluate import Issue, Severity
from pecia.rooms.memory.trace import Complexity, Step, StepType

MOST_STEPS = 200
Longish = Annotated[str, Field(max_length=20_000)]


class StepIn(Open):
    type: StepType
    content: Longish


class ContextIn(Open):
    goal: Longish | None = None
    input: Longish | None = None
    taskType: Name | None = None
    domain: Name | None = None
    complexity: Complexity | None = None


class TraceFacts(Open):
    sessionId: Name | None = None
    taskContext: ContextIn | None = None


class TraceIn(Open):
    """A trace, as cipher_extract_reasoning_steps gives it; its whole answer is taken too."""

    id: Name
    steps: list[StepIn] = Field(max_length=MOST_STEPS)
    metadata: TraceFacts = Field(default_factory=TraceFacts)

    @model_validator(mode="before")
    @classmethod
    def _unwrapped(cls, value: Any) -> Any:
        return unwrapped(value, "trace")

    @property
    def plain(self) -> list[Step]:
        return [Step(it.type, it.content) for it in self.steps]


class IssueIn(Open):
    type: Name
    description: Longish = ""
    severity: Severity = "low"


class EvaluationIn(Open):
    """An evaluation, as cipher_evaluate_reasoning gives it; its whole answer is taken too."""

    qualityScore: float = Field(ge=0, le=1)
    efficiencyScore: float | None = Field(default=None, ge=0, le=1)
    issues: list[IssueIn] = Field(default_factory=list[IssueIn], max_length=100)
    suggestions: list[Longish] = Field(default_factory=list[Longish], max_length=100)
    shouldStore: bool | None = None

    @model_validator(mode="before")
    @classmethod
    def _unwrapped(cls, value: Any) -> Any:
        return unwrapped(value, "evaluation")

    @property
    def plain(self) -> list[Issue]:
        return [Issue(it.type, it.description, it.severity) for it in self.issues]


class ExtractOptions(Closed):
    extractExplicit: bool = True
    extractImplicit: bool = True
    includeMetadata: bool = True


class ExtractSteps(Input):
    userInput: str = Field(
        min_length=1,
        max_length=LONGEST_TEXT,
        description="The reasoning.",
        json_schema_extra=UNAUDITED,
    )
    reasoningContent: str | None = Field(
        default=None,
        max_length=LONGEST_TEXT,
        description="Deprecated: read after userInput.",
        json_schema_extra=UNAUDITED,
    )
    options: ExtractOptions = Field(default_factory=ExtractOptions)


class EvaluateOptions(Closed):
    checkEfficiency: bool = True
    detectLoops: bool = True
    generateSuggestions: bool = True


class Evaluate(Input):
    trace: TraceIn = Field(json_schema_extra=UNAUDITED)
    options: EvaluateOptions = Field(default_factory=EvaluateOptions)


class StoreTrace(Input):
    trace: TraceIn = Field(json_schema_extra=UNAUDITED)
    evaluation: EvaluationIn


class PatternContext(Closed):
    taskType: Name | None = None
    domain: Name | None = None
    complexity: Complexity | None = None


class PatternOptions(Closed):
    maxResults: int = Field(default=10, ge=1, le=50)
    minQualityScore: float = Field(default=0.3, ge=0, le=1)
    includeEvaluations: bool = True
    # Taken for older clients: a query that was asked before is answered anew.
    deduplicateQueries: bool = True
    enable_query_refinement: bool = False


class SearchPatterns(Input):
    query: str = Field(min_length=1, max_length=1000)
    context: PatternContext = Field(default_factory=PatternContext)
    options: PatternOptions = Field(default_factory=PatternOptions)


class Did(Output):
    """When it was done, and how long it took."""

    timestamp: str
    executionTime: float = Field(description="Milliseconds.")


class Reasoned(Output):
    success: bool
    result: dict[str, Any]
    metadata: Did


def unwrapped(value: Any, name: str) -> Any:
    """What lies in `{result: {name: …}}` or `{name: …}`; anything else as it is."""
    for path in (("result", name), (name,)):
        found: Any = value
        for part in path:
            found = cast(dict[str, Any], found).get(part) if isinstance(found, dict) else None
        if isinstance(found, dict):
            return cast(dict[str, Any], found)
    return value


def issues_out(issues: Sequence[Issue]) -> list[dict[str, str]]:
    return [
        {"type": it.type, "description": it.description, "severity": it.severity} for it in issues
    ]
