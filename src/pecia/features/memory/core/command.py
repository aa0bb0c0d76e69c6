"""Extracts the fact from a "remember that …" message. Pure."""

import re

# A colon, or `that`, ends the command. `Remember to rotate the key` is itself a fact, and
# `Store: open until nine` names a store, so verbs that are also nouns are not commands.
_COMMAND = re.compile(
    r"\s*(?:please,?\s+|pls\s+|bitte\s+)?"
    r"(?:(?:remember|memori[sz]e|keep\s+in\s+mind|do(?:n't|n’t|\s+not)\s+forget)"
    r"(?:(?:\s+(?:this|the\s+following)(?:\s+fact)?)?\s*[:：]|\s+that\b(?!\s*[:,]))"
    r"|(?:merke?\s+dir(?:\s+bitte)?|denk\s+daran|retiens|souviens-toi|recuerda)\s*[:：])\s+",
    re.IGNORECASE,
)


def strip_remember_command(message: str) -> str | None:
    """The fact after the command; None where there is no clear command: not for a question, nor
    where a single word would be left."""
    found = _COMMAND.match(message)
    if found is None:
        return None
    fact = message[found.end() :].strip()
    return None if fact.endswith(("?", "？")) or len(fact.split()) < 2 else fact
