"""Tags, domain and code of a text, by keywords. Pure."""

import re
from collections.abc import Mapping, Sequence

LANGUAGES = (
    "javascript",
    "typescript",
    "python",
    "java",
    "rust",
    "go",
    "php",
    "ruby",
    "swift",
    "kotlin",
    "sql",
    "bash",
    "scala",
    "elixir",
)
FRAMEWORKS = (
    "react",
    "vue",
    "angular",
    "node",
    "express",
    "django",
    "flask",
    "fastapi",
    "svelte",
    "nextjs",
    "spring",
    "rails",
    "laravel",
)
TOOLS = (
    "docker",
    "kubernetes",
    "git",
    "npm",
    "yarn",
    "webpack",
    "vite",
    "eslint",
    "prettier",
    "terraform",
    "postgresql",
    "redis",
)
TAG_ALIASES = {
    "golang": "go",
    "node.js": "node",
    "nodejs": "node",
    "js": "javascript",
    "ts": "typescript",
    "k8s": "kubernetes",
    "postgres": "postgresql",
    "next.js": "nextjs",
    "py": "python",
}
# Everyday English words: they count as names only where written as one.
CAPITALIZED_ONLY = frozenset({"go", "swift", "express", "spring", "rails"})
FALLBACK_TAG = "general-knowledge"
MAX_CODE_CHARS = 4000

_STRUCTURE: Mapping[str, re.Pattern[str]] = {
    "code-block": re.compile(r"```|~~~"),
    "programming": re.compile(
        r"\b(?:function|class|method|variable|interface|def|const|async|import|compile[rd]?)\b",
        re.I,
    ),
    "file-path": re.compile(
        r"(?:^|[\s`'\"(])(?:[\w.-]+/)+[\w.-]+\.\w{1,8}\b|(?:^|\s)[.~]?/[\w./-]{2,}"
    ),
    "error-handling": re.compile(
        r"\b(?:errors?|exceptions?|bugs?|stack ?trace|crash(?:es|ed)?|catch)\b", re.I
    ),
    "configuration": re.compile(
        r"\b(?:config(?:uration|ure[ds]?)?|settings?|environment variables?|\.env)\b|\$[A-Z_]{2,}",
        re.I,
    ),
    "api": re.compile(r"\b(?:apis?|endpoints?|rest|graphql|webhooks?)\b", re.I),
}
_DOMAINS: Mapping[str, re.Pattern[str]] = {
    "frontend": re.compile(
        r"\b(?:front-?end|react|vue|angular|svelte|css|html|browser|components?|ui)\b", re.I
    ),
    "backend": re.compile(
        r"\b(?:back-?end|server|database|postgres(?:ql)?|sql|django|flask|express|api|endpoints?)\b",
        re.I,
    ),
    "devops": re.compile(
        r"\b(?:devops|docker|kubernetes|k8s|deploy(?:s|ed|ment|ments)?|pipelines?|terraform|ci)\b",
        re.I,
    ),
    "version-control": re.compile(
        r"\b(?:git|commits?|branch(?:es)?|merge[ds]?|rebase[ds]?|pull requests?)\b", re.I
    ),
    "quality-assurance": re.compile(
        r"\b(?:qa|tests?|testing|unit tests?|e2e|coverage|pytest|jest|lint(?:er|ing)?)\b", re.I
    ),
}
_FENCE = re.compile(r"^(```|~~~)[^\n]*\n(.*?)^\1[ \t]*$", re.MULTILINE | re.DOTALL)
_WORD = re.compile(r"[\w.+#-]*[\w+#]")


def extract_tags(text: str) -> list[str]:
    """The tags, names first; a default tag where nothing matches."""
    names = _names(text)
    named = [it for it in (*LANGUAGES, *FRAMEWORKS, *TOOLS) if it in names]
    structure = [tag for tag, pattern in _STRUCTURE.items() if pattern.search(text)]
    return [*named, *structure] or [FALLBACK_TAG]


def detect_domain(text: str) -> str | None:
    """The domain with most of its keywords in the text; the first on a tie."""
    counts = {name: len(it.findall(text)) for name, it in _DOMAINS.items()}
    best = max(counts, key=lambda name: counts[name])
    return best if counts[best] else None


def extract_code(text: str) -> str | None:
    """The first fenced block, cut at 4,000 characters."""
    found = _FENCE.search(text)
    return found[2].rstrip("\n")[:MAX_CODE_CHARS] or None if found else None


def has_code(text: str) -> bool:
    return bool(_STRUCTURE["code-block"].search(text))


def has_command(text: str) -> bool:
    """Whether a line looks like a shell command."""
    return bool(_COMMAND.search(text))


_COMMAND = re.compile(
    r"^\s*(?:\$ |> )?(?:sudo|npm|npx|yarn|pip|git|docker|kubectl|cd|curl|make|python) \S",
    re.MULTILINE,
)


def merge_tags(tags: Sequence[str], *more: str) -> list[str]:
    """Tags, deduplicated, in order."""
    return list(dict.fromkeys((*more, *tags)))


def _names(text: str) -> set[str]:
    """The known names in a text. Only whole words count: `going` is not `go`."""
    found: set[str] = set()
    words: list[str] = _WORD.findall(text)
    for word in words:
        name = TAG_ALIASES.get(word.lower(), word.lower())
        if name not in CAPITALIZED_ONLY or not word.islower():
            found.add(name)
    return found
