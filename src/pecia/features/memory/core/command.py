"""What a message asks to be remembered, without the words that ask for it. Pure."""

import re

# A colon, or `that`, ends the command. `Remember to rotate the key` is a fact as it stands, and
# `Store: open until nine` names a store, so verbs that are nouns too are no commands.
_COMMAND = re.compile(
    r"\s*(?:please,?\s+|pls\s+|bitte\s+)?"
    r"(?:(?:remember|memori[sz]e|keep\s+in\s+mind|do(?:n't|n’t|\s+not)\s+forget)"
    r"(?:(?:\s+(?:this|the\s+following)(?:\s+fact)?)?\s*[:：]|\s+that\b(?!\s*[:,]))"
    r"|(?:merke?\s+dir(?:\s+bitte)?|denk\s+daran|retiens|souviens-toi|recuerda)\s*[:：])\s+",
    re.IGNORECASE,
)


def commanded(message: str) -> str | None:
    """The fact behind the command; None where the message is no command, or may be none: a question
    asks, and what would leave a single word says more with the command than without it."""
    found = _COMMAND.match(message)
    if found is None:
        return None
    fact = message[found.end() :].strip()
    return None if fact.endswith(("?", "？")) or len(fact.split()) < 2 else fact
