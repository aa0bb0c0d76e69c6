"""Words that tell whether a sentence was cut between two clauses, in five languages. Pure.

A clause opens with a conjunction or a preposition, not with a verb: `unless it rains`, but not
`requires a photo`. It is not cut from its article, its auxiliary or its relative pronoun.
"""

from pecia.features.ckf.heuristic.cues.grammar import Cue
from pecia.features.ckf.heuristic.cues.kind import CueKind

# Cues of a condition, a limit or an exception that are no openers: verbs, adjectives, adverbs,
# quantities, and `according to`.
_VERBAL = """
according to|alone|applies|applies only|applies to|apply only|apply to|at least|at most|above|as yet
|below|beforehand|concerns only|controlled by|depend on|depends on|does not satisfy|do not satisfy
|effective|eligible|exceed|exceeds|exclusively|expire|expired|expires|fewer than|formerly
|from then on|governed by|greater than|henceforth|in advance|in scope|ineligible|less than
|limited to|more than|necessary|need|needs|no less than|no more than|no other|not more than
|only|or fewer|or less|or more|out of scope|outside|previously|prospectively|providing|relates to
|require|required before|requires|restricted to|retroactive|retroactively|satisfies|satisfy
|since then|solely|starting|subject to|thereafter|up to|deadline|conditional on|conditional upon
|contingent on|contingent upon
|exempt|exempted|excluding|excludes|exclude|excluded|does not apply|do not apply|not apply
|does not cover|do not cover|does not change|do not change|does not affect|do not affect
|does not waive|waive|waives|waived|does not count|do not count|in that case|instead|otherwise
|no longer applies|no longer apply|does not extend|do not extend|not counted|is lifted|are lifted
|is suspended|are suspended|is ignored|are ignored|is disregarded|are disregarded|unaffected
|overrides|overridden|overriding|supersede|supersedes|superseded|takes precedence|take precedence
|takes priority|take priority|prevail|prevails|replaces|precedence over|priority over|regardless
|aplica-se|aplica-se a|aplicam-se|aplicam-se a|anteriormente|apenas|conforme|depende de|dependem de
|exclusivamente|exige|exigem|expira|inferior a|limitada a|limitado a|mais de|menos de|no máximo
|no mínimo|pelo menos|prazo|previamente|requer|requerem|restrita a|restrito a|retroativamente
|retroativo|somente|superior a|só|sujeita a|sujeito a|também|vigente|em vigor|abaixo de|acima de
|quanto a|isento|isenta|isentos|isentas|excluindo|excluídos|excluídas|não se aplica
|não se aplicam|caso contrário|em vez disso|fora isso|não altera|não alteram|não afeta|dispensado
|dispensada|não se estende|não se estendem|não conta|não contam|fica suspenso|ficam suspensos
|al menos|como máximo|como mínimo|depende de|dependen de|en cuanto a|exigen|limitado a|limitada a
|más de|por debajo de|por encima de|por lo menos|requiere|requieren|requisito previo|restringido a
|se aplica|se aplica a|se aplican|se aplican a|según|solamente|solo|sólo|sujeta a|sujeto a|también
|únicamente|vence|plazo|exento|exenta|exentos|exentas|excluyendo|excluidos|excluidas
|no se aplica|no se aplican|de lo contrario|en su lugar|no afecta|no cambia|queda exento
|no se extiende|no se extienden|no cuenta|no cuentan|queda suspendido|quedan suspendidos
|au moins|au plus|au maximum|au minimum|au préalable|au-dessous de|au-dessus de|auparavant|dans les
|dépend de|dépendent de|délai|en ce qui concerne|exclusivement|exigent|expire|inférieur à
|limitée à|limité à|moins de|nécessite|nécessitent|plus de|requiert|requièrent|rétroactif
|rétroactivement|réservé à|réservée à|réservés à|s'applique|s'applique à|s'appliquent
|s'appliquent à|selon|seulement|supérieur à|uniquement|également|en vigueur|exempté|exemptée
|exemptés|dispensé|dispensée|ne s'applique pas|ne s'appliquent pas|sinon|à la place|ne modifie pas
|n'affecte pas|dans le cas contraire|ne s'étend pas|ne s'étendent pas|n'est pas compté
|ne sont pas comptés|est suspendu|sont suspendus
|ausschließlich|begrenzt auf|beschränkt auf|benötigt|benötigen|bisher|ebenfalls|erfordern|erfordert
|frist|gelten|gelten für|gilt|gilt für|hinsichtlich|hängen von|hängt von|höchstens|im sinne
|in bezug auf|in kraft|je nach|lediglich|läuft ab|maximal|mehr als|mindestens|minimal|nur|nur dann
|rückwirkend|setzen voraus|setzt voraus|unter|vorher|weniger als|zum|zusätzlich|zuvor|über|bis zu
|ausgenommen|ausnahmsweise|befreit|gilt nicht|gelten nicht|andernfalls|ansonsten|stattdessen
|ändert nichts|berührt nicht|entfällt|entfallen|unberührt|erstreckt sich nicht
|erstrecken sich nicht|bleibt außer betracht|bleiben außer betracht|hat vorrang|haben vorrang
|geht vor|gehen vor|ersetzt|ersetzen|hebt auf|egal
"""
VERBAL_CUES = frozenset(" ".join(it.split()) for it in _VERBAL.replace("\n", "").split("|"))
# They cannot be the last word of a clause.
_DANGLING_BY_LANGUAGE = {
    "en": """
        a an the and or nor of which who whom whose that is are was were be been being may must
        shall should will would cannot to by from than especially particularly even if whether as
        because although while for with without between into
    """,
    "de": """
        der die das den dem des ein eine einen einem einer eines und oder welche welcher welches
        dass insbesondere sogar zur im am wie als weil obwohl während für von zwischen
    """,
    "fr": """
        le la les un une des du de et ou qui que dont est sont sera seront doit peut au aux
        notamment ne parce car pour par dans sur avec sans entre
    """,
    "es": """
        el los las la una un y o u que cuyo cuya es son será serán debe puede de del al a porque
        pues para por en con sin sobre entre
    """,
    "pt": "o a os as um uma e ou que cujo cuja é são deve pode de do da dos das ao à porque pois"
    " para por em com sem sobre entre",
}
DANGLING = {key: frozenset(it.split()) for key, it in _DANGLING_BY_LANGUAGE.items()}
# They open a clause inside another one, so no main clause begins with them.
_INNER_BY_LANGUAGE = {
    "en": "or but nor although though whereas because since which who whom whose that than as so"
    " except",
    "de": """
        oder aber sondern noch während obwohl weil dass deren dessen welche welcher welches was wer
        wo wie um als ob außer ausgenommen
    """,
    "fr": "ou mais ni car bien parce puisque qui que dont où comme quoique afin sauf hormis",
    "es": "o u pero sino aunque porque pues que quien quienes cuyo cuya como donde"
    " excepto salvo de",
    "pt": "ou mas nem embora porque pois que quem cujo cuja como onde exceto excepto salvo de",
}
INNER_WORDS = {key: frozenset(it.split()) for key, it in _INNER_BY_LANGUAGE.items()}
# After a noun they begin a relative clause: `the place where it must stand`.
RELATIVE_PLACES = frozenset({"where", "wo", "où", "donde", "onde"})
# After a leading clause a German verb follows, so what begins with them is a relative clause.
_ARTICLES = "der die das den dem des ein eine einen einem einer eines denen in mit für über bei von"
RELATIVE_STARTS = {"de": frozenset(_ARTICLES.split())}
# Before Portuguese `se` they make it a pronoun: `para se manter`, `que se torne`.
_BEFORE_WORDS = "para que não a ao de em por sem já lhe ele ela eles elas"
PRONOUN_BEFORE = frozenset(_BEFORE_WORDS.split())
# After `se` a condition goes on with them.
_CONDITION_AFTER = """
o a os as um uma não você vocês eu ele ela eles elas este esta esse essa isso isto seu sua for forem
houver tiver tiverem estiver estiverem quiser puder fizer necessário possível algum alguma nenhum
"""
CONDITION_AFTER = frozenset(_CONDITION_AFTER.split())
# They forbid where they open a clause, or beside a duty; elsewhere they tell what happens.
_WEAK = "do not|don't|avoid|avoids|avoided|evitar|éviter|unavailable|ineligible|not eligible"
WEAK_PROHIBITIONS = frozenset(_WEAK.split("|"))
# A result begins at them only where a clause begins: `…, and therefore …`
_ADVERBS = """
therefore thus hence consequently thereby daher deshalb deswegen folglich somit infolgedessen donc
ainsi portanto logo assim entonces así
"""
_RESULT_ADVERBS = frozenset({*_ADVERBS.split(), "por lo tanto", "por tanto", "por isso", "por eso"})
# A preposition of passives, which names who acts.
_AGENTS = frozenset({"durch"})
_CLAUSE_STARTS = frozenset({"and", "und", "et", "y", "e", "so", "that", "dass", "que"})
_BOUND_KINDS = frozenset(
    {CueKind.CONDITION, CueKind.PRECONDITION, CueKind.SCOPE, CueKind.TEMPORAL}
    | {CueKind.EXCEPTION, CueKind.OVERRIDE}
)


def opens_clause(cue: Cue) -> bool:
    """Whether a clause or a phrase begins with the cue."""
    return cue.words not in VERBAL_CUES or cue.kinds.isdisjoint(_BOUND_KINDS)


def opens_cause(cue: Cue, before: str) -> bool:
    """Whether a cause or a result begins with the cue, not in the middle of a clause."""
    if cue.words in _AGENTS:
        return False
    before = before.rstrip()
    if cue.words not in _RESULT_ADVERBS or not before or before[-1] in ",;:—–(":
        return True
    return before.split()[-1].lower() in _CLAUSE_STARTS
