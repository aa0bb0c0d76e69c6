"""`cipher_extract_and_operate_memory`: what an agent wants remembered, and what became of it."""

import time
from dataclasses import dataclass
from uuid import UUID

from pecia.kernel.errors import Json
from pecia.kernel.identity.caller import Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Tool
from pecia.rooms.memory.arguments import bounded
from pecia.rooms.memory.judging import Rules
from pecia.rooms.memory.learn import Learner, Learnt, Skipped, Wanted, sorted_out
from pecia.rooms.memory.learning_shapes import (
    Action,
    Existing,
    Extraction,
    FactOut,
    FactShape,
    Learn,
    LearnOptions,
    LearnOut,
    SkippedOut,
    Summary,
)
from pecia.rooms.memory.model import Event, Fact, Kind
from pecia.rooms.memory.modes import require_on
from pecia.rooms.memory.recall import ROOM
from pecia.rooms.memory.settings import MemorySettings
from pecia.rooms.memory.shown import now, preview, texts_in
from pecia.rooms.memory.standing import Labels, standing
from pecia.rooms.memory.tags import GENERAL, code_of, domain_of, has_code, has_command, tags_of


@dataclass(frozen=True, slots=True)
class Learning:
    """The handler."""

    learner: Learner
    settings: MemorySettings

    async def extract_and_operate(self, call: Call, ask: Learn) -> LearnOut:
        """Remember facts for later: decisions, how things work, what was tried, code worth keeping.
        One text a fact, written so that it stands alone. The answer says
        what became of each."""
        said = Labels(
            ask.memoryMetadata.userId or ask.context.userId,
            ask.memoryMetadata.projectId or ask.context.projectId,
        )
        here = standing(call, self.settings, said)
        require_on("cipher_extract_and_operate_memory", here.settings)
        given = [ask.interaction] if isinstance(ask.interaction, str) else ask.interaction
        kept, skipped = sorted_out(given, force=ask.options.force)
        shared = _shared_facts(ask)
        said = _telling(ask)
        facts = [Fact(text, {**shared, **_own_facts(text, ask)}, said) for text in kept]
        named, unknown = _ids(ask.existingMemories)
        known = await self.learner.visible(call, named)
        unknown += [str(it) for it in named if it not in known]
        wanted = Wanted(
            Kind.KNOWLEDGE, _rules(ask.options), ask.options.maxSimilarResults, (*known,)
        )
        learnt = await self.learner.learn(call, here, facts, wanted) if facts else []
        return learn_out(learnt, skipped, unknown)


def learning_tools(learning: Learning) -> tuple[AnyTool, ...]:
    return (
        Tool(
            ROOM,
            "cipher_extract_and_operate_memory",
            Scope.WRITE,
            Learn,
            LearnOut,
            learning.extract_and_operate,
            read_only=False,
            destructive=True,
            title="Remember",
        ),
    )


def learn_out(learnt: list[Learnt], skipped: list[Skipped], unknown: list[str]) -> LearnOut:
    """What was done, as it was done."""
    second = int(time.time())
    return LearnOut(
        success=True,
        extraction=Extraction(
            extracted=len(learnt),
            skipped=len(skipped),
            facts=[_fact(it.fact.text, f"fact_{second}_{n}") for n, it in enumerate(learnt)],
        ),
        memory=[_action(it) for it in learnt],
        summary=[summary_of(it) for it in learnt],
        written=sum(it.decision.event is not Event.NONE for it in learnt),
        skippedReasons=[
            SkippedOut(preview=preview(it.text, 100), reason=it.reason) for it in skipped
        ],
        unknownMemories=unknown,
        timestamp=now(),
    )


def summary_of(it: Learnt) -> Summary:
    """What was done with one text, and why."""
    return Summary(
        factPreview=preview(it.fact.text, 80),
        action=it.decision.event,
        confidence=it.decision.confidence,
        targetId=it.decision.target,
        reason=it.decision.reason,
        qualitySource=it.decision.quality,
    )


def knowledge_facts(text: str) -> dict[str, Json]:
    """What a text says of itself."""
    found: dict[str, Json] = {"tags": [*tags_of(text)]}
    if domain := domain_of(text):
        found["domain"] = domain
    if code := code_of(text):
        found["code_pattern"] = code
    return found


def _own_facts(text: str, ask: Learn) -> dict[str, Json]:
    auto = ask.options.autoExtractKnowledgeInfo
    found: dict[str, Json] = knowledge_facts(text) if auto else {"tags": [GENERAL]}
    if ask.knowledgeInfo.domain is not None:
        found["domain"] = ask.knowledgeInfo.domain
    if ask.knowledgeInfo.codePattern is not None:
        found["code_pattern"] = ask.knowledgeInfo.codePattern
    return found


def _shared_facts(ask: Learn) -> dict[str, Json]:
    """What holds for every text of a call."""
    said: dict[str, Json] = {}
    if ask.context.sessionId is not None:
        said["sourceSessionId"] = ask.context.sessionId
    metadata = ask.memoryMetadata.model_dump(mode="json", exclude_none=True)
    metadata = {name: it for name, it in metadata.items() if name not in ("projectId", "userId")}
    if metadata:
        said["metadata"] = bounded("memoryMetadata", metadata)
    return said


def _telling(ask: Learn) -> dict[str, Json]:
    """What makes the same words another fact: the code they speak of, and the environment."""
    said: dict[str, Json] = {}
    if ask.knowledgeInfo.codePattern is not None:
        said["code_pattern"] = ask.knowledgeInfo.codePattern
    if ask.memoryMetadata.environment is not None:
        said["metadata"] = {"environment": ask.memoryMetadata.environment}
    return said


def _rules(options: LearnOptions) -> Rules:
    return Rules(
        options.similarityThreshold,
        options.confidenceThreshold,
        options.useLLMDecisions,
        options.enableDeleteOperations,
    )


def _ids(existing: list[Existing]) -> tuple[list[UUID], list[str]]:
    good: list[UUID] = []
    bad: list[str] = []
    for it in existing:
        try:
            good.append(UUID(str(it.id)))
        except ValueError:
            bad.append(str(it.id)[:64])
    return good, bad


def _fact(text: str, id_: str) -> FactOut:
    shape = FactShape(hasCodeBlock=has_code(text), hasCommand=has_command(text), length=len(text))
    return FactOut(id=id_, preview=preview(text, 100), metadata=shape)


def _action(it: Learnt) -> Action:
    return Action(
        id=it.id,
        text=it.fact.text,
        event=it.decision.event,
        tags=texts_in(it.facts.get("tags")),
        confidence=it.decision.confidence,
    )
