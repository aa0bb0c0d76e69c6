"""Input and output of `cipher_extract_and_operate_memory`."""

from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from pecia.features.memory.model import MemoryEvent
from pecia.features.memory.tools.arguments import (
    MAX_TEXT_CHARS,
    MAX_TEXTS,
    UNAUDITED,
    CallContext,
    ClosedArguments,
    MemoryText,
    Moment,
    OpenArguments,
    ShortName,
)
from pecia.kernel.tool.model import Input, Output


class ExistingMemory(ClosedArguments):
    id: str | int
    text: str = Field(default="", max_length=MAX_TEXT_CHARS)
    metadata: dict[str, Any] = Field(default_factory=dict[str, Any])


class KnowledgeInfo(ClosedArguments):
    domain: ShortName | None = None
    codePattern: str | None = Field(default=None, max_length=4000)


class LearnOptions(ClosedArguments):
    similarityThreshold: float = Field(default=0.6, ge=0, le=1)
    maxSimilarResults: int = Field(default=5, ge=1, le=10)
    # Accepted for older clients and ignored: a call is always one transaction.
    enableBatchProcessing: bool = True
    useLLMDecisions: bool = True
    autoExtractKnowledgeInfo: bool = True
    confidenceThreshold: float = Field(default=0.4, ge=0, le=1)
    enableDeleteOperations: bool = True
    force: bool = Field(default=False, description="Store what repeats memories too.")


class MemoryMetadata(OpenArguments):
    projectId: ShortName | None = None
    userId: ShortName | None = None
    environment: ShortName | None = None
    source: ShortName | None = None
    said_at: Moment | None = None
    said_by: ShortName | None = None
    valid_from: Moment | None = None
    valid_to: Moment | None = None

    @model_validator(mode="after")
    def _ends_after_it_begins(self) -> Self:
        """What never holds would be acknowledged and not found."""
        if self.valid_from and self.valid_to and self.valid_to < self.valid_from:
            raise ValueError("valid_to is before valid_from")
        return self


class LearnInput(Input):
    interaction: (
        MemoryText | Annotated[list[MemoryText], Field(min_length=1, max_length=MAX_TEXTS)]
    ) = Field(
        description="The fact, or several. Each is a memory of its own.",
        json_schema_extra=UNAUDITED,
    )
    existingMemories: list[ExistingMemory] = Field(
        default_factory=list[ExistingMemory], max_length=50, json_schema_extra=UNAUDITED
    )
    knowledgeInfo: KnowledgeInfo = Field(default_factory=KnowledgeInfo, json_schema_extra=UNAUDITED)
    context: CallContext = Field(default_factory=CallContext)
    options: LearnOptions = Field(default_factory=LearnOptions)
    memoryMetadata: MemoryMetadata = Field(
        default_factory=MemoryMetadata, json_schema_extra=UNAUDITED
    )


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


class ExtractionOut(Output):
    extracted: int
    skipped: int
    facts: list[FactOut]


class ActionOut(Output):
    id: str | None
    text: str
    event: MemoryEvent
    tags: list[str]
    confidence: float


class DecisionSummary(Output):
    factPreview: str
    action: MemoryEvent
    confidence: float
    targetId: str | None
    reason: str
    qualitySource: str
    undo: str | None = Field(default=None, description="The id for memory_undo, to take it back.")


class LearnOut(Output):
    success: bool
    extraction: ExtractionOut
    memory: list[ActionOut]
    summary: list[DecisionSummary]
    written: int = Field(description="Memories that were added, changed or removed by this call.")
    skippedReasons: list[SkippedOut] = Field(description="Texts that were not stored, and why.")
    unknownMemories: list[str] = Field(
        description="Ids in existingMemories that do not exist or are not visible."
    )
    timestamp: str
