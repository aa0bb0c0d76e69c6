"""The flat list that simpler models fill in, turned into the whole form. Pure."""

from collections.abc import Callable

from pecia.features.ckf.llm.extract.form import TRACE_FIELDS
from pecia.features.ckf.package.fields import ITEM_SECTIONS
from pecia.features.ckf.package.model import Item, text_of
from pecia.kernel.errors import Json

_KNOWN = frozenset(it.key for it in ITEM_SECTIONS)


def expand_flat_answer(answer: Item) -> Item:
    """The same items under their sections; of an unknown section, as a plain fact."""
    found: dict[str, list[Json]] = {}
    items = answer.get("items")
    for it in items if isinstance(items, list) else []:
        if isinstance(it, dict):
            section = text_of(it, "section")
            section = section if section in _KNOWN else "atomic_units"
            trace: Item = {name: it[name] for name in TRACE_FIELDS if name in it}
            found.setdefault(section, []).append({**_fields(section, it), **trace})
    return {**found}


def _fields(section: str, item: Item) -> Item:
    name, content, extra = (text_of(item, it) for it in ("name", "content", "extra"))
    if section in ("procedures", "playbooks"):
        steps: list[Json] = [it.strip(" -*\t") for it in content.splitlines() if it.strip()]
        return {"name": name, "objective": extra, "steps": steps}
    return _FIELD_BUILDERS[section](name, content, extra)


def _pair(first: str, second: str, third: str) -> Callable[[str, str, str], Item]:
    return lambda name, content, extra: {first: name, second: content, third: extra}


_FIELD_BUILDERS: dict[str, Callable[[str, str, str], Item]] = {
    "entities": _pair("name", "description", "type"),
    "concepts": _pair("label", "definition", "domain"),
    "principles": lambda name, content, extra: {"statement": content, "rationale": extra},
    "heuristics": _pair("trigger", "recommended_action", "interpretation"),
    "decision_rules": _pair("condition", "decision", "reasoning"),
    "patterns": _pair("name", "signal", "response_strategy"),
    "anti_patterns": _pair("name", "description", "why_it_fails"),
    "causal_chains": _pair("cause", "effect", "mechanism"),
    "contextual_triggers": _pair(
        "if_user_says_or_context_contains", "agent_should", "agent_should_not"
    ),
    "if_then_rules": _pair("if", "then", "because"),
    "exceptions": _pair("general_rule", "exception_case", "modified_action"),
    "mental_models": _pair("name", "description", "use_when"),
    "qa_pairs": _pair("question", "ideal_answer", "answer_type"),
    "retrieval_chunks": _pair("title", "compressed_knowledge", "standalone_context"),
    "atomic_units": lambda name, content, extra: {"statement": content, "type": extra},
}
