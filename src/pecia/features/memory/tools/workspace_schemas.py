"""Inputs and outputs of the team memory tools."""

from typing import Annotated, Any, Literal

from pydantic import Field

from pecia.features.memory.model import VERSION, MemoryEvent
from pecia.features.memory.tools.arguments import (
    MAX_TEXTS,
    UNAUDITED,
    CallContext,
    ClosedArguments,
    MemoryText,
    ShortName,
)
from pecia.features.memory.tools.extraction_schemas import DecisionSummary, SkippedOut
from pecia.kernel.tool.model import Input, Output

Domain = Literal["frontend", "backend", "devops", "quality-assurance", "design"]
Status = Literal["in-progress", "completed", "blocked", "reviewing"]


class WorkspaceFilters(ClosedArguments):
    domain: Domain | None = None
    team_member: ShortName | None = Field(default=None, description="A part of the name.")
    project: ShortName | None = Field(default=None, description="A part of the name.")
    status: Status | None = None


class WorkspaceSearch(Input):
    query: str = Field(min_length=1, max_length=1000)
    top_k: int = Field(default=10, ge=1, le=50)
    similarity_threshold: float | None = Field(
        default=None, ge=0, le=1, description="Default 0.4, or the setting."
    )
    filters: WorkspaceFilters = Field(default_factory=WorkspaceFilters)
    include_metadata: bool = True
    enable_query_refinement: bool = False


class WorkspaceProgress(ClosedArguments):
    feature: Annotated[str, Field(max_length=500)] | None = None
    status: Status | None = None
    completion: Annotated[int, Field(ge=0, le=100)] | None = None


class WorkspaceBug(ClosedArguments):
    description: str = Field(max_length=2000)
    severity: Literal["low", "medium", "high", "critical"] = "medium"
    status: Literal["open", "in-progress", "fixed"] = "open"


class WorkspaceWork(ClosedArguments):
    project: ShortName | None = None
    repository: Annotated[str, Field(max_length=300)] | None = None
    branch: Annotated[str, Field(max_length=300)] | None = None


class WorkspaceInfo(ClosedArguments):
    teamMember: ShortName | None = None
    currentProgress: WorkspaceProgress | None = None
    bugsEncountered: Annotated[list[WorkspaceBug], Field(max_length=20)] | None = None
    workContext: WorkspaceWork | None = None
    domain: Domain | None = None


class StoreOptions(ClosedArguments):
    similarityThreshold: float = Field(default=0.8, ge=0, le=1)
    confidenceThreshold: float = Field(default=0.6, ge=0, le=1)
    # Accepted for older clients and ignored: a call is always one transaction.
    enableBatchProcessing: bool = True
    autoExtractWorkspaceInfo: bool = True


class WorkspaceStore(Input):
    interaction: (
        MemoryText | Annotated[list[MemoryText], Field(min_length=1, max_length=MAX_TEXTS)]
    ) = Field(json_schema_extra=UNAUDITED)
    workspaceInfo: WorkspaceInfo = Field(default_factory=WorkspaceInfo)
    context: CallContext = Field(default_factory=CallContext)
    options: StoreOptions = Field(default_factory=StoreOptions)


class TeamMemory(Output):
    id: str
    text: str
    tags: list[str]
    timestamp: str
    similarity: float
    version: int = VERSION
    source: str = "workspace"
    memoryType: str = "workspace"
    metadata: dict[str, Any] = Field(description="Member, progress, bugs, domain.")


class TeamSearchStats(Output):
    totalResults: int
    searchTime: float
    embeddingTime: float
    maxSimilarity: float
    minSimilarity: float
    averageSimilarity: float
    workspaceResults: int
    searchMode: str = "workspace"
    usedFallback: bool
    fallbackReason: str | None = None
    filters: dict[str, Any]


class TeamSearchOut(Output):
    success: bool
    query: str
    results: list[TeamMemory]
    metadata: TeamSearchStats
    timestamp: str


class TeamExtraction(Output):
    extracted: int
    skipped: int
    content: list[str]


class TeamNote(Output):
    id: str | None
    text: str
    event: MemoryEvent
    tags: list[str]
    confidence: float
    reasoning: str
    workspaceInfo: dict[str, Any]


class TeamNoteOut(Output):
    success: bool
    extraction: TeamExtraction
    workspace: list[TeamNote]
    summary: list[DecisionSummary]
    skippedReasons: list[SkippedOut]
    timestamp: str
