"""Forms of a term with its meaning beside or below it, and of what announces a list of terms.

In five languages. Layout and closed classes of words only: quotes, bold, colons, dashes, articles.
Evidence for the estimate in `term_signs.py`; alone, none of them makes an item.
"""

import re

from pecia.features.ckf.heuristic.cues.forms import LABEL

_ARTICLE = (
    r"(?:(?:the|an?|der|die|das|ein|eine|les?|la|l['’]|un[ae]?|des?|el|l[oa]s|uma?|os?|as?)"
    r"\s?){0,1}"
)
# `"Work": …`, `« concédant » : …`, `The term “computer” means …`
QUOTED_TERM_FIRST = re.compile(
    LABEL + _ARTICLE + r"(?:(?:terms?|expressions?|words?|phrases?|mots?|termes?|begriffe?"
    r"|término|termo|expressão|expresión)\s)?[*_]{0,2}(?:[\"“”„«‘][^\"“”„»«’\n]{1,60}[\"”“»’]"
    r"|`[^`'\n]{2,60}')[*_]{0,2}",
    re.IGNORECASE,
)
_QUOTED = r"[*_]{0,2}[\"“”„«‘'][^\"“”„»«’\n]{1,70}[\"”“»’'][*_]{0,2}"
# `"Work" means …`, `For purposes of this section, the term “State” includes …`, `« X » désigne …`
QUOTED_MEANS = re.compile(
    LABEL + r"(?:(?:for|in|as|wherever|when|zum|für|im|au|aux|pour|dans|a|para|en|no|na)\s"
    r"[^,\"“„«]{1,90},\s)?" + _ARTICLE + r"(?:(?:terms?|expressions?|words?|phrases?|mots?|termes?"
    r"|begriffe?|término|termo|expressão|expresión|reference to)\s)?"
    + _QUOTED
    + r"(?:,?\s?(?:or|and|oder|und|ou|et|o|y|e)\s"
    + _QUOTED
    + r"|\s\([^)]{1,60}\))?\s?,?\s?(?:[:—–]|(?:(?:shall|will|also|each|only|here|hier|does|do)\s)?"
    r"(?:not\s)?(?:means?|refers? to|denotes?|includes?|stands? for|ha(?:s|ve) the meaning|is|are"
    r"|bezeichne\w*|bedeute\w*|meint|umfass\w*|ist|sind|désigne\w*|signifie\w*|s['’]entend\w*"
    r"|compren\w*|est|sont|significa\w*|designa\w*|se (?:refiere|entiende|considera)\w*|incluye\w*"
    r"|es|son|é|são|refere-se|inclu[ei]m?)\b)",
    re.IGNORECASE,
)
# `To "distribute" documentation means …`
QUOTED_ACT_MEANS = re.compile(
    LABEL
    + r"(?:[^\"“„«.;]{1,90},\s)?to\s"
    + _QUOTED
    + r"(?:\s[\w-]+){0,4}?\s(?:shall mean|means?)\b",
    re.IGNORECASE,
)
# `A reference in this Act to a sale includes …`
REFERENCE_MEANS = re.compile(
    LABEL + r"(?:any |a )?references?\b[^.;]{0,40}?\bto\b[^.;]{2,160}?\b(?:includes?|means?"
    r"|(?:is|are|shall be) (?:to be )?(?:a |construed|read)\b)",
    re.IGNORECASE,
)
# `Kind im Sinne dieses Gesetzes ist, wer …`
SENSE_MEANS = re.compile(
    r"\bim sinne (?:dieses|dieser|des|der|von)\b[^.;]{0,80}?\b(?:ist|sind|liegt|liegen|gilt|gelten"
    r"|bedeute[nt]|verst)",
    re.IGNORECASE,
)
# An entry of a German statute: `Einführer jede … Person, die …`, `Einfuhr die erstmalige …`
# A German entry begins with its term, not with a clause: `Wenn Du ein …`, `Ist die …`
_NO_TERM = (
    r"(?!(?:wenn|falls|sofern|sobald|solange|soweit|bevor|nachdem|um|bei|für|mit|im?|am|zu[mr]?|ist"
    r"|sind|hat|haben|kann|können|muss|müssen|soll\w*|wird|werden|bitte)\s)"
)
BARE_TERM_FIRST = re.compile(
    LABEL
    + _NO_TERM
    + r"((?:[^\s,;:.()]+\s+){1,4}?)(?=(?:jede[rsn]?|eine?[rsnm]?|d(?:er|ie|as)|alle|diejenigen?"
    r"|solche|natürliche|juristische)\s)",
    re.IGNORECASE,
)
# `**Term**: …`, `*Term* – …`, `` `term` – … ``, `**Term.** …`
MARKED_TERM_FIRST = re.compile(
    LABEL.replace(r"[\W_]{0,4}", r"[^\w*_`]{0,4}", 1)
    + r"(\*\*|__|\*|_|`{1,2})(?![\s*_`])([^*_`\n]{2,70}?)(?<!\s)\1\s?"
    + r"(?:[:–—-]|(?<=[.:]\*\*)|\([^)]{2,40}\))"
)
# `Term: meaning`, `Term – meaning`, `Term (T): meaning`
PLAIN_TERM_FIRST = re.compile(
    LABEL + r"(?:[^\s:;,.–—?!]+[ \u00a0]){0,5}[^\s:;,.–—?!]+[ \u00a0]?(?::|\s[-–—])\s"
)
# A definition list: `term` or `term:` on one line and `: meaning` below, or `term:: meaning`.
LISTED_TERM_FIRST = re.compile(r"[^\n]{1,60}?(?::?\s*\n\s*:\s|::\s+)(?=\S)")
LISTED_MEANING = re.compile(r":\s+(?=\S)")
# How the description of a thing begins: `the endpoint that …`, `toute personne …`, `é um …`
DESCRIPTION = re.compile(
    r"(?:an?|the|any|all|each|every|either|one|those|someone|something|whether"
    r"|is an?|is the|are|means?|includes?|refers? to|shall mean|does not include"
    r"|eine?[rsnm]?|d(?:er|ie|as|en)|jede[rs]?|alle|diejenigen?|solche|ist|sind|bezeichnet"
    r"|une?|les?|la|l['’]|tou(?:te?s?|s)|ce(?:lui|lle|ux)|ensemble|désigne|est|sont|du|des"
    r"|un[oa]?s?|el|l[oa]s?|cualquier\w*|tod[oa]s?|aquel\w*|conjunto|es|son|se entiende"
    r"|uma?s?|os?|as?|qualquer|quaisquer|aquel[ea]s?|é|são)(?=[\s'’])",
    re.IGNORECASE,
)
INDEFINITE_FIRST = re.compile(
    r"(?:An?|The|Any|One|Eine?|Der|Die|Das|Une?|L[ea]s?|L['’]|Un[oa]?|El|L[oa]s|Uma?|Os?|As?)"
    r"(?=[\s'’])\s?\w"
)
# A thing and its class: `A gateway is a machine`; not `This is a …` or `If it is a …`.
GENUS = re.compile(
    LABEL + r"(?:(?!(?:this|th[eo]se|that|it|there|they|s?he|if|when|what|which|who|here|as|one"
    r"|dies\w*|das|es|da|wenn|hier|auch|im|bei|in|abweichend|damit|ce\w*|il|elles?|si|quand|comme"
    r"|est[aeo]s?|ello|cuando|como|iss?to|isso|ess[ae]s?|se|quando|\w*example|ejemplo|exemplo)\s)"
    r"[^\s,;:.]+\s+){1,6}?(?:is|ist|est|es|é)\s+(?:an?|eine?|une?|una|uma?)\s+\w",
    re.IGNORECASE,
)
# What a whole text is, if its title says so.
GLOSSARY_TITLE = re.compile(r"\bglossar|\bglosar|\bglossár|\blexique\b|\bterminolog", re.IGNORECASE)
# The sentence or title above a list of terms.
ANNOUNCES = re.compile(
    r"\bfor (?:the )?purposes? of\b|\bas used in\b|\bin (?:this|these) \w+(?: and \w+)?[,:—-]"
    r"|\bfollowing (?:terms|words|expressions|definitions|meanings?)\b|\bterms (?:are )?used\b"
    r"|\bmeanings?\b|\binterpretation\b|\bdefin(?:ed|itions?)\b|\bterminology\b|\bglossary\b"
    r"|\bim sinne\b|\bbegriff|\bfolgende (?:definitionen|begriffe)\b|\bbedeute[tn]\b|\bglossar\b"
    r"|\bau sens d|\bon entend\b|\bs['’]entend|\bdéfini|\bsignifient\b|\bdésignent\b|\blexique\b"
    r"|\bse entender?á?n? por\b|\bse entiende\b|\ba (?:los )?efectos\b|\bdefinici|\bglosari"
    r"|\bentende-se\b|\bconsideram?-se\b|\bpara (?:os )?(?:fins|efeitos)\b|\bdefiniç|\bglossári",
    re.IGNORECASE,
)
