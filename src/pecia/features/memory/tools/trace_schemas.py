"""Inputs and outputs of the reasoning tools."""

from collections.abc import Sequence
from typing import Annotated, Any, cast

from pydantic import Field, model_validator

from pecia.features.memory.core.evaluate import IssueSeverity, TraceIssue
from pecia.features.memory.core.trace import Complexity, StepType, TraceStep
from pecia.features.memory.tools.arguments import (
    MAX_TEXT_CHARS,
    UNAUDITED,
    ClosedArguments,
    OpenArguments,
    ShortName,
)
from pecia.kernel.tool.model import Input, Output

MAX_STEPS = 200
LongText = Annotated[str, Field(max_length=20_000)]


class StepIn(OpenArguments):
    type: StepType
    content: LongText


class ContextIn(OpenArguments):
    goal: LongText | None = None
    input: LongText | None = None
    taskType: ShortName | None = None
    domain: ShortName | None = None
    complexity: Complexity | None = None


class TraceFacts(OpenArguments):
    sessionId: ShortName | None = None
    taskContext: ContextIn | None = None


class TraceIn(OpenArguments):
    """A trace, as cipher_extract_reasoning_steps returns it; its whole output is accepted too."""

    id: ShortName
    steps: list[StepIn] = Field(max_length=MAX_STEPS)
    metadata: TraceFacts = Field(default_factory=TraceFacts)

    @model_validator(mode="before")
    @classmethod
    def _unwrap(cls, value: Any) -> Any:
        return unwrap_result(value, "trace")

    @property
    def steps_model(self) -> list[TraceStep]:
        return [TraceStep(it.type, it.content) for it in self.steps]


class IssueIn(OpenArguments):
    type: ShortName
    description: LongText = ""
    severity: IssueSeverity = "low"


class EvaluationIn(OpenArguments):
    """An evaluation, as cipher_evaluate_reasoning returns it; its whole output is accepted too."""

    qualityScore: float = Field(ge=0, le=1)
    efficiencyScore: float | None = Field(default=None, ge=0, le=1)
    issues: list[IssueIn] = Field(default_factory=list[IssueIn], max_length=100)
    suggestions: list[LongText] = Field(default_factory=list[LongText], max_length=100)
    shouldStore: bool | None = None

    @model_validator(mode="before")
    @classmethod
    def _unwrap(cls, value: Any) -> Any:
        return unwrap_result(value, "evaluation")

    @property
    def issues_model(self) -> list[TraceIssue]:
        return [TraceIssue(it.type, it.description, it.severity) for it in self.issues]


class ExtractOptions(ClosedArguments):
    extractExplicit: bool = True
    extractImplicit: bool = True
    includeMetadata: bool = True


class ExtractSteps(Input):
    userInput: str = Field(
        min_length=1,
        max_length=MAX_TEXT_CHARS,
        description="The reasoning.",
        json_schema_extra=UNAUDITED,
    )
    reasoningContent: str | None = Field(
        default=None,
        max_length=MAX_TEXT_CHARS,
        description="Deprecated: read after userInput.",
        json_schema_extra=UNAUDITED,
    )
    options: ExtractOptions = Field(default_factory=ExtractOptions)


class EvaluateOptions(ClosedArguments):
    checkEfficiency: bool = True
    detectLoops: bool = True
    generateSuggestions: bool = True


class EvaluateInput(Input):
    trace: TraceIn = Field(json_schema_extra=UNAUDITED)
    options: EvaluateOptions = Field(default_factory=EvaluateOptions)


class StoreTraceInput(Input):
    trace: TraceIn = Field(json_schema_extra=UNAUDITED)
    evaluation: EvaluationIn


class PatternContext(ClosedArguments):
    taskType: ShortName | None = None
    domain: ShortName | None = None
    complexity: Complexity | None = None


class PatternOptions(ClosedArguments):
    maxResults: int = Field(default=10, ge=1, le=50)
    minQualityScore: float = Field(default=0.3, ge=0, le=1)
    includeEvaluations: bool = True
    # Accepted for older clients and ignored: results are not cached.
    deduplicateQueries: bool = True
    enable_query_refinement: bool = False


class SearchPatterns(Input):
    query: str = Field(min_length=1, max_length=1000)
    context: PatternContext = Field(default_factory=PatternContext)
    options: PatternOptions = Field(default_factory=PatternOptions)


class ExecutionInfo(Output):
    """Start time and duration."""

    timestamp: str
    executionTime: float = Field(description="Milliseconds.")


class TraceOut(Output):
    success: bool
    result: dict[str, Any]
    metadata: ExecutionInfo


def unwrap_result(value: Any, name: str) -> Any:
    """The value in `{result: {name: …}}` or `{name: …}`; anything else unchanged."""
    for path in (("result", name), (name,)):
        found: Any = value
        for part in path:
            found = cast(dict[str, Any], found).get(part) if isinstance(found, dict) else None
        if isinstance(found, dict):
            return cast(dict[str, Any], found)
    return value


def format_issues(issues: Sequence[TraceIssue]) -> list[dict[str, str]]:
    return [
        {"type": it.type, "description": it.description, "severity": it.severity} for it in issues
    ]
