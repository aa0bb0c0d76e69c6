"""A lint finding: rule, position, message. Pure."""

from dataclasses import dataclass
from enum import StrEnum

from pecia.kernel.errors import Json


class LintSeverity(StrEnum):
    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True, order=True)
class LintFinding:
    """One finding in a file; lines count from 1."""

    path: str
    line: int
    severity: LintSeverity
    rule: str
    message: str

    def to_json(self) -> dict[str, Json]:
        return {
            "path": self.path,
            "line": self.line,
            "severity": self.severity.value,
            "rule": self.rule,
            "message": self.message,
        }


def error(path: str, rule: str, message: str, line: int = 1) -> LintFinding:
    return LintFinding(path, line, LintSeverity.ERROR, rule, message)


def warning(path: str, rule: str, message: str, line: int = 1) -> LintFinding:
    return LintFinding(path, line, LintSeverity.WARNING, rule, message)


def info(path: str, rule: str, message: str, line: int = 1) -> LintFinding:
    return LintFinding(path, line, LintSeverity.INFO, rule, message)
