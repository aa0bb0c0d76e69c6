"""What `cipher_extract_and_operate_memory` takes and gives."""

from typing import Annotated, Any

from pydantic import Field

from pecia.kernel.tool.model import Input, Output
from pecia.rooms.memory.arguments import (
    LONGEST_TEXT,
    MOST_TEXTS,
    UNAUDITED,
    Closed,
    Context,
    Name,
    Open,
    Words,
)
from pecia.rooms.memory.model import Event


class Existing(Closed):
    id: str | int
    text: str = Field(default="", max_length=LONGEST_TEXT)
    metadata: dict[str, Any] = Field(default_factory=dict[str, Any])


class KnowledgeInfo(Closed):
    domain: Name | None = None
    codePattern: str | None = Field(default=None, max_length=4000)


class LearnOptions(Closed):
    similarityThreshold: float = Field(default=0.6, ge=0, le=1)
    maxSimilarResults: int = Field(default=5, ge=1, le=10)
    # Taken for older clients: a call is written as a whole in either case.
    enableBatchProcessing: bool = True
    useLLMDecisions: bool = True
    autoExtractKnowledgeInfo: bool = True
    confidenceThreshold: float = Field(default=0.4, ge=0, le=1)
    enableDeleteOperations: bool = True
    force: bool = Field(default=False, description="Keep what looks like a search result too.")


class Metadata(Open):
    projectId: Name | None = None
    userId: Name | None = None
    environment: Name | None = None
    source: Name | None = None


class Learn(Input):
    interaction: Words | Annotated[list[Words], Field(min_length=1, max_length=MOST_TEXTS)] = Field(
        description="The fact, or several. Each is a memory of its own.",
        json_schema_extra=UNAUDITED,
    )
    existingMemories: list[Existing] = Field(
        default_factory=list[Existing], max_length=50, json_schema_extra=UNAUDITED
    )
    knowledgeInfo: KnowledgeInfo = Field(default_factory=KnowledgeInfo)
    context: Context = Field(default_factory=Context)
    options: LearnOptions = Field(default_factory=LearnOptions)
    memoryMetadata: Metadata = Field(default_factory=Metadata)


class FactShape(Output):
    hasCodeBlock: bool
    hasCommand: bool
    length: int


class FactOut(Output):
    id: str
    preview: str
    metadata: FactShape


class SkippedOut(Output):
    preview: str
    reason: str


class Extraction(Output):
    extracted: int
    skipped: int
    facts: list[FactOut]


class Action(Output):
    id: str | None
    text: str
    event: Event
    tags: list[str]
    confidence: float


class Summary(Output):
    factPreview: str
    action: Event
    confidence: float
    targetId: str | None
    reason: str
    qualitySource: str


class LearnOut(Output):
    success: bool
    extraction: Extraction
    memory: list[Action]
    summary: list[Summary]
    written: int = Field(description="Memories that were added, changed or removed by this call.")
    skippedReasons: list[SkippedOut] = Field(description="Texts that nothing was made of, and why.")
    unknownMemories: list[str] = Field(
        description="Ids in existingMemories that are none of yours to see."
    )
    timestamp: str
