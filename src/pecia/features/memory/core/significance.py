"""Whether a message is worth storing. Pure; used for automatic capture only.

Clearly technical text is kept first, so that "hash passwords with argon2" is. Exclusion patterns
match the beginning of a text, not a word somewhere in it.
"""

import re
from dataclasses import dataclass

_ECHO = re.compile(
    r"\s*(?:[#*>\-\s]*)(?:"
    r"(?:retrieved|relevant|related|stored|existing|recalled|similar)\s+(?:memor(?:y|ies)|knowledge)\b"
    r"|(?:memory|knowledge|reasoning|workspace)\s+search\s+results?\b"
    r"|search\s+results?\s*(?:\(\d+\))?\s*:"
    r"|(?:cipher_)?(?:memory_search|search_reasoning_patterns|workspace_search)\b"
    r"|found\s+\d+\s+(?:memor(?:y|ies)|results?|patterns?)\b"
    r"|\{\s*\"success\"\s*:\s*(?:true|false)\s*,\s*\"(?:query|extraction|result)\""
    r")",
    re.IGNORECASE,
)


def is_echo(text: str) -> bool:
    """Whether a text begins like the result of a memory search."""
    return bool(_ECHO.match(text))


MIN_CHARS = 20
TECHNICAL_SHARE = 0.1
MIN_WORDS = 5


@dataclass(frozen=True, slots=True)
class Significance:
    significant: bool
    reason: str


_TECHNICAL = re.compile(
    r"\b(?:functions?|class(?:es)?|methods?|apis?|endpoints?|databases?|schemas?|migrations?|queries|"
    r"git|commits?|branch(?:es)?|repos?(?:itory|itories)?|files?|folders?|configs?|configuration|"
    r"servers?|errors?|exceptions?|bugs?|stack ?traces?|solutions?|patterns?|algorithms?|tests?|"
    r"hash(?:es|ed|ing)?|tokens?|ports?|hosts?|urls?|variables?|parameters?|types?|interfaces?|"
    r"deploy(?:s|ed|ment|ments)?|docker|kubernetes|npm|yarn|webpack|vite|eslint|"
    r"javascript|typescript|python|java|rust|golang|php|ruby|swift|kotlin|sql|html|css|json|yaml|"
    r"react|vue|angular|node|django|flask|fastapi|postgres(?:ql)?|redis|argon2|bcrypt|oauth|jwt)\b",
    re.IGNORECASE,
)
_CODE = re.compile(r"```|`[^`\n]+`|\$[A-Z_]{2,}|\b[\w-]+/[\w./-]+\.\w{1,8}\b|\b\w+\(\)|=>|;\s*$|::")
_PUNCTUATION = tuple(
    re.compile(it) for it in (r"[{}]", r"\w\(.*\)", r"[;=]\s", r"\w\.\w+\(", r"<\w+>", r"\[\d*\]")
)
_VERBS = re.compile(
    r"\b(?:cod(?:e|ing)|deploy|configure|refactor|implement|debug|install|compile|build|optimi[sz]e|"
    r"migrate|release|review|merge|upgrade|document)(?:s|d|ed|ing)?\b",
    re.IGNORECASE,
)
_LEFT_OUT = tuple(
    (reason, re.compile(pattern, re.IGNORECASE))
    for reason, pattern in (
        (
            "a greeting",
            r"\s*(?:hi|hello|hey|good (?:morning|evening|night)|thanks?|thank you|bye)\b",
        ),
        ("a bare yes or no", r"\s*(?:yes|no|ok(?:ay)?|sure|done|right|nope|yep)\W*$"),
        (
            "a question",
            r"\s*(?:what|who|where|when|why|how|which|can|could|do|does|is|are|did|should)\b[^\n]*\?\s*$",
        ),
        ("a search", r"\s*(?:search|find|look ?up|show|list|tell me|remind me)\b"),
        ("about a person", r"\s*(?:my name is|who am i|what is my name|i am called)\b"),
        (
            "a status line",
            r"\s*(?:running|executing|loading|calling|searching|processing)\b.{0,60}(?:\.\.\.|…)\s*$",
        ),
        (
            "a report that something is done",
            r"\s*(?:task|all|everything|operation)\s+(?:is\s+)?(?:completed?|done|finished)\b",
        ),
    )
)


def assess_significance(text: str) -> Significance:
    """Whether to keep it, and why or why not."""
    plain = text.strip()
    if not plain:
        return Significance(False, "it is blank")
    left_out = next((why for why, it in _LEFT_OUT if it.match(plain)), None)
    if left_out == "a question" or (left_out and not _is_technical(plain)):
        return Significance(False, f"it is {left_out}")
    if _is_technical(plain):
        return Significance(True, "it is technical")
    if len(plain) < MIN_CHARS:
        return Significance(False, f"it is shorter than {MIN_CHARS} characters")
    if _VERBS.search(plain):
        return Significance(True, "it is about work on software")
    return Significance(False, "nothing in it is technical")


def _is_technical(text: str) -> bool:
    if _CODE.search(text) or sum(bool(it.search(text)) for it in _PUNCTUATION) >= 2:
        return True
    words = text.split()
    found = len(_TECHNICAL.findall(text))
    return found > 0 and (len(words) <= MIN_WORDS or found / len(words) > TECHNICAL_SHARE)
