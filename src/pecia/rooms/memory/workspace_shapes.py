"""What the tools for memories of a team take and give."""

from typing import Annotated, Any, Literal

from pydantic import Field

from pecia.kernel.tool.model import Input, Output
from pecia.rooms.memory.arguments import MOST_TEXTS, UNAUDITED, Closed, Context, Name, Words
from pecia.rooms.memory.learning_shapes import SkippedOut, Summary
from pecia.rooms.memory.model import VERSION, Event

Domain = Literal["frontend", "backend", "devops", "quality-assurance", "design"]
Status = Literal["in-progress", "completed", "blocked", "reviewing"]


class Filters(Closed):
    domain: Domain | None = None
    team_member: Name | None = Field(default=None, description="A part of the name.")
    project: Name | None = Field(default=None, description="A part of the name.")
    status: Status | None = None


class WorkspaceSearch(Input):
    query: str = Field(min_length=1, max_length=1000)
    top_k: int = Field(default=10, ge=1, le=50)
    similarity_threshold: float | None = Field(
        default=None, ge=0, le=1, description="Else 0.4, or as the settings say."
    )
    filters: Filters = Field(default_factory=Filters)
    include_metadata: bool = True
    enable_query_refinement: bool = False


class Progress(Closed):
    feature: Annotated[str, Field(max_length=500)] | None = None
    status: Status | None = None
    completion: Annotated[int, Field(ge=0, le=100)] | None = None


class Bug(Closed):
    description: str = Field(max_length=2000)
    severity: Literal["low", "medium", "high", "critical"] = "medium"
    status: Literal["open", "in-progress", "fixed"] = "open"


class Work(Closed):
    project: Name | None = None
    repository: Annotated[str, Field(max_length=300)] | None = None
    branch: Annotated[str, Field(max_length=300)] | None = None


class WorkspaceInfo(Closed):
    teamMember: Name | None = None
    currentProgress: Progress | None = None
    bugsEncountered: Annotated[list[Bug], Field(max_length=20)] | None = None
    workContext: Work | None = None
    domain: Domain | None = None


class StoreOptions(Closed):
    similarityThreshold: float = Field(default=0.8, ge=0, le=1)
    confidenceThreshold: float = Field(default=0.6, ge=0, le=1)
    # Taken for older clients: a call is written as a whole in either case.
    enableBatchProcessing: bool = True
    autoExtractWorkspaceInfo: bool = True


class WorkspaceStore(Input):
    interaction: Words | Annotated[list[Words], Field(min_length=1, max_length=MOST_TEXTS)] = Field(
        json_schema_extra=UNAUDITED
    )
    workspaceInfo: WorkspaceInfo = Field(default_factory=WorkspaceInfo)
    context: Context = Field(default_factory=Context)
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
    metadata: dict[str, Any] = Field(description="Who, how far, bugs, where: what is known of it.")


class TeamFacts(Output):
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


class TeamOut(Output):
    success: bool
    query: str
    results: list[TeamMemory]
    metadata: TeamFacts
    timestamp: str


class TeamExtraction(Output):
    extracted: int
    skipped: int
    content: list[str]


class Noted(Output):
    id: str | None
    text: str
    event: Event
    tags: list[str]
    confidence: float
    reasoning: str
    workspaceInfo: dict[str, Any]


class NotedOut(Output):
    success: bool
    extraction: TeamExtraction
    workspace: list[Noted]
    summary: list[Summary]
    skippedReasons: list[SkippedOut]
    timestamp: str
