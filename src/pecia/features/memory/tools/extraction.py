"""`cipher_extract_and_operate_memory`: stores facts, and reports the outcome of each."""

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from pecia.features.memory.core.format import format_now, list_texts, truncate_preview
from pecia.features.memory.core.tags import (
    FALLBACK_TAG,
    detect_domain,
    extract_code,
    extract_tags,
    has_code,
    has_command,
)
from pecia.features.memory.core.toolset import require_enabled
from pecia.features.memory.core.utterance import read_standing
from pecia.features.memory.judge import DecisionRules
from pecia.features.memory.learn import (
    Learner,
    LearnOutcome,
    LearnPolicy,
    SkippedText,
    filter_texts,
)
from pecia.features.memory.model import FactTimes, MemoryEvent, MemoryFact, MemoryKind
from pecia.features.memory.scope import ScopeLabels, resolve_scope
from pecia.features.memory.settings import MemorySettings
from pecia.features.memory.tools.arguments import require_bounded
from pecia.features.memory.tools.extraction_schemas import (
    ActionOut,
    DecisionSummary,
    ExistingMemory,
    ExtractionOut,
    FactOut,
    FactShape,
    LearnInput,
    LearnOptions,
    LearnOut,
    SkippedOut,
)
from pecia.features.memory.tools.search import FEATURE
from pecia.kernel.errors import Json
from pecia.kernel.identity.caller import Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Tool


@dataclass(frozen=True, slots=True)
class ExtractionTool:
    """The handler."""

    learner: Learner
    settings: MemorySettings

    async def extract_and_operate(self, call: Call, ask: LearnInput) -> LearnOut:
        """Remember facts for later: decisions, how things work, what was tried, code worth keeping.
        One fact per text, written so that it stands alone. The answer gives
        the outcome of each."""
        labels = ScopeLabels(
            ask.memoryMetadata.userId or ask.context.userId,
            ask.memoryMetadata.projectId or ask.context.projectId,
        )
        here = resolve_scope(call, self.settings, labels)
        require_enabled("cipher_extract_and_operate_memory", here.settings)
        texts = [ask.interaction] if isinstance(ask.interaction, str) else ask.interaction
        kept, skipped = filter_texts(texts)
        shared = _call_facts(ask)
        distinguishing = _distinguishing_facts(ask)
        said = ask.memoryMetadata
        times = FactTimes(said.said_at or datetime.now(UTC), said.valid_from, said.valid_to)
        facts = [
            MemoryFact(text, {**shared, **_text_facts(text, ask)}, distinguishing, times)
            for text in kept
        ]
        named, unknown = _parse_existing_ids(ask.existingMemories)
        known = await self.learner.filter_visible(call, here, named)
        unknown += [str(it) for it in named if it not in known]
        wanted = LearnPolicy(MemoryKind.KNOWLEDGE, _rules(ask.options), (*known,))
        learnt = await self.learner.learn(call, here, facts, wanted) if facts else []
        return build_learn_out(learnt, skipped, unknown)


def extraction_tools(learning: ExtractionTool) -> tuple[AnyTool, ...]:
    return (
        Tool(
            FEATURE,
            "cipher_extract_and_operate_memory",
            Scope.WRITE,
            LearnInput,
            LearnOut,
            learning.extract_and_operate,
            read_only=False,
            destructive=True,
            title="Remember",
        ),
    )


def build_learn_out(
    learnt: list[LearnOutcome], skipped: list[SkippedText], unknown: list[str]
) -> LearnOut:
    """The output for these outcomes."""
    second = int(time.time())
    return LearnOut(
        success=True,
        extraction=ExtractionOut(
            extracted=len(learnt),
            skipped=len(skipped),
            facts=[_fact_out(it.fact.text, f"fact_{second}_{n}") for n, it in enumerate(learnt)],
        ),
        memory=[_action_out(it) for it in learnt],
        summary=[summarize_outcome(it) for it in learnt],
        written=sum(it.decision.event is not MemoryEvent.NONE for it in learnt),
        skippedReasons=[
            SkippedOut(preview=truncate_preview(it.text, 100), reason=it.reason) for it in skipped
        ],
        unknownMemories=unknown,
        timestamp=format_now(),
    )


def summarize_outcome(it: LearnOutcome) -> DecisionSummary:
    """The outcome of one text, with the reason."""
    return DecisionSummary(
        factPreview=truncate_preview(it.fact.text, 80),
        action=it.decision.event,
        confidence=it.decision.confidence,
        targetId=it.decision.target,
        reason=it.decision.reason,
        qualitySource=it.decision.quality,
        undo=it.undo,
    )


def extract_knowledge_facts(text: str) -> dict[str, Json]:
    """Tags, domain and code extracted from a text."""
    found: dict[str, Json] = {"tags": [*extract_tags(text)]}
    if domain := detect_domain(text):
        found["domain"] = domain
    if code := extract_code(text):
        found["code_pattern"] = code
    if standing := read_standing(text):
        found["standing"] = standing
    return found


def _text_facts(text: str, ask: LearnInput) -> dict[str, Json]:
    auto = ask.options.autoExtractKnowledgeInfo
    found: dict[str, Json] = extract_knowledge_facts(text) if auto else {"tags": [FALLBACK_TAG]}
    if ask.memoryMetadata.said_by == "assistant":
        # What a model advises is no instruction of the user's.
        found.pop("standing", None)
    if ask.knowledgeInfo.domain is not None:
        found["domain"] = ask.knowledgeInfo.domain
    if ask.knowledgeInfo.codePattern is not None:
        found["code_pattern"] = ask.knowledgeInfo.codePattern
    return found


OWN_FIELDS = ("projectId", "userId", "said_at", "said_by", "valid_from", "valid_to")
"""Metadata that a memory has a place of its own for."""


def _call_facts(ask: LearnInput) -> dict[str, Json]:
    """Facts common to every text of a call."""
    facts: dict[str, Json] = {}
    if ask.context.sessionId is not None:
        facts["sourceSessionId"] = ask.context.sessionId
    metadata = ask.memoryMetadata.model_dump(mode="json", exclude_none=True)
    if ask.memoryMetadata.said_by is not None:
        facts["said_by"] = ask.memoryMetadata.said_by
    metadata = {name: it for name, it in metadata.items() if name not in OWN_FIELDS}
    if metadata:
        facts["metadata"] = require_bounded("memoryMetadata", metadata)
    return facts


def _distinguishing_facts(ask: LearnInput) -> dict[str, Json]:
    """Facts that make the same text a different memory: its code, and the environment."""
    facts: dict[str, Json] = {}
    if ask.knowledgeInfo.codePattern is not None:
        facts["code_pattern"] = ask.knowledgeInfo.codePattern
    if ask.memoryMetadata.environment is not None:
        facts["metadata"] = {"environment": ask.memoryMetadata.environment}
    return facts


def _rules(options: LearnOptions) -> DecisionRules:
    return DecisionRules(
        options.similarityThreshold,
        options.confidenceThreshold,
        options.useLLMDecisions,
        options.enableDeleteOperations,
        options.maxSimilarResults,
        keep_echo=options.force,
    )


def _parse_existing_ids(existing: list[ExistingMemory]) -> tuple[list[UUID], list[str]]:
    good: list[UUID] = []
    bad: list[str] = []
    for it in existing:
        try:
            good.append(UUID(str(it.id)))
        except ValueError:
            bad.append(str(it.id)[:64])
    return good, bad


def _fact_out(text: str, id_: str) -> FactOut:
    shape = FactShape(hasCodeBlock=has_code(text), hasCommand=has_command(text), length=len(text))
    return FactOut(id=id_, preview=truncate_preview(text, 100), metadata=shape)


def _action_out(it: LearnOutcome) -> ActionOut:
    return ActionOut(
        id=it.id,
        text=it.fact.text,
        event=it.decision.event,
        tags=list_texts(it.facts.get("tags")),
        confidence=it.decision.confidence,
    )
