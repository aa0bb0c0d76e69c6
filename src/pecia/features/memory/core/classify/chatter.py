"""What people, agents and programs say while they work, and nobody needs later. Pure.

Lines of programs are told by how they begin: logs, traces, JSON, code, commands. `I have updated
the file`, `that's not what I meant` are told by a small trained model
(`bench/memories/sentences.py`), and by whether they have a word that such sentences do not have.
"""

import re

from pecia.features.memory.core.classify.model import load_model
from pecia.features.memory.core.compare.statement import LIGHT, read_statement, stem

# Chosen by cross-validation on the sentences that the model is taught: of 380, 290 are told, and 6
# of 1,912 facts are taken for them.
MIN_SCORE, MIN_SCORE_OF_OTHER = -0.5, 1.0

_PROGRAM = re.compile(
    r"\s*(?:"
    # Times with seconds, levels in brackets or with a colon.
    r"\[?(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d:\d\d\b"
    r"|\[(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|FATAL|CRITICAL)\]"
    # Not `WARNING:` and `NOTICE:`, which people write above what matters.
    r"|(?:TRACE|DEBUG|INFO|[Ee]rror|ERROR|FATAL|CRITICAL|fatal|panic):\s"
    r"|(?:npm|yarn|pnpm|pip|cargo)[: ]+(?:WARN|ERR!|notice|warning:|error:)"
    r"|Traceback \(most recent call last\)|\s*File \"[^\"]+\", line \d+|\s+at [\w.$<>]+\("
    r"|[{\[]\s*(?:[\"'{\[\d].*)?[}\]]\s*$|</?\w+[^<>]*>\S*"
    r"|(?:SELECT|INSERT INTO|UPDATE|DELETE FROM|CREATE|ALTER|DROP)\s.*;?\s*$"
    r"|(?:def|class|function|func|fn)\s+\w+\s*[({:<]|(?:const|let|var)\s+\w+\s*="
    r"|(?:from [\w.]+ )?import [\w.{}*, ]+;?\s*$|(?:if|for|while)\s*\(.*[{;]"
    r"|for \w+ in \S+:|[$>%]\s+\w|(?:diff --git|commit [0-9a-f]{7,}\s*$|@@ -\d|\+\+\+ |--- )"
    r")"
)


def is_program_text(text: str) -> bool:
    return _PROGRAM.match(text) is not None


def is_chatter(sentence: str) -> bool:
    model, words = load_model("chatter"), read_statement(sentence).words
    is_other = any(it not in LIGHT and stem(it) not in model.known for it in words)
    return model.score(sentence) > (MIN_SCORE_OF_OTHER if is_other else MIN_SCORE)
