"""The function words of French rules. Grammar only: never a word that belongs to a subject."""

from pecia.features.ckf.heuristic.cues.kind import CueKind, CueLists

STOPWORDS = (
    "le la les l un une des du de d et ou à au aux en dans que qui ne pas se s est sont été être"
    " par pour avec sans son sa ses ce cette ces il elle ils elles plus comme mais sur ont a leur"
    " leurs on si tout tous très aussi entre doit doivent peut peuvent lorsque quand"
)

CUES: CueLists = {
    CueKind.DEFINITION: (
        "signifie|désigne|désignent|se réfère à|est défini comme|est définie comme|s'appelle"
        "|est appelé|est appelée|est connu sous le nom de|consiste en|est un|est une|est celui"
        "|est celle|sont ceux"
        "|sont celles|est le contrat par lequel|est la convention par laquelle|se nomme|se nomment"
        "|s'appellent|s'entend de|s'entend d'|on entend par|est réputé|est réputée|sont réputés"
        "|sont réputées|est dite|est dit|sont dites|sont dits"
    ),
    CueKind.OBLIGATION: (
        "doit|doivent|devra|devront|il faut|est tenu de|sont tenus de|est obligatoire"
        "|sont obligatoires|est requis|est requise|sont requis|est nécessaire|toujours"
        "|il est nécessaire|assurez-vous|veillez à"
    ),
    CueKind.PROHIBITION: (
        "ne doit pas|ne doivent pas|ne peut pas|ne peuvent pas|ne peut|ne peuvent"
        "|ne devrait pas|jamais|évitez|éviter|est interdit|est interdite|sont interdits"
        "|sont interdites|il est interdit|n'est pas autorisé|n'est pas autorisée"
        "|ne sont pas autorisés|n'est pas permis|n'a pas droit|n'ont pas droit|en aucun cas"
        "|sous aucun prétexte"
    ),
    CueKind.PERMISSION: (
        "peut|peuvent|pourra|pourront|est autorisé|est autorisée|sont autorisés|est permis"
        "|a droit à|ont droit à|facultatif|facultative"
    ),
    CueKind.CONDITION: (
        "si|s'il|s'ils|lorsque|lorsqu'|quand|chaque fois que|en cas de|au cas où|dès que"
        "|à condition que|à condition de|pourvu que|une fois|où|selon|tant que"
        "|seulement si|uniquement si|uniquement lorsque|à moins que|même si|même lorsque"
        "|sauf si|en cas de doute"
    ),
    CueKind.PRECONDITION: (
        "exige|exigent|requiert|requièrent|dépend de|dépendent de|sous réserve de"
        "|seulement après|seulement si|uniquement si|uniquement lorsque|à moins que|à moins de"
        "|avant de|avant que|au préalable|pas avant|nécessite|nécessitent"
    ),
    CueKind.EXCEPTION: (
        "à moins que|à moins de|sauf|sauf si|excepté|exempté|exemptée|exemptés|dispensé"
        "|dispensée|à l'exception de|à l'exclusion de|hormis|ne s'applique pas"
        "|ne s'appliquent pas|même si|même lorsque|bien que|seulement si|uniquement si"
        "|uniquement lorsque|sinon|à la place|ne modifie pas|n'affecte pas"
        "|dans le cas contraire|mais seulement|mais uniquement|ne s'étend pas"
        "|ne s'étendent pas|n'est pas compté|ne sont pas comptés|est suspendu|sont suspendus"
    ),
    CueKind.OVERRIDE: (
        "prévaut|prévalent|prime sur|priment sur|a priorité|remplace|remplacent|annule|déroge à"
        "|indépendamment de|quel que soit|quelle que soit|quels que soient|nonobstant|malgré"
        "|peu importe|au lieu de"
    ),
    CueKind.CONTRAST: (
        "cependant|toutefois|mais|néanmoins|pourtant|tandis que|alors que|au contraire|en revanche"
        "|plutôt que"
    ),
    CueKind.SCOPE: (
        "seulement|uniquement|exclusivement|limité à|limitée à|réservé à|réservée à|réservés à"
        "|s'applique à|s'appliquent à|s'applique|s'appliquent|dans le cadre de|au moins|au plus"
        "|au maximum|au minimum|jusqu'à|moins de|plus de|inférieur à|supérieur à|au-dessous de"
        "|au-dessus de|aux fins de|en ce qui concerne|également|hors de"
    ),
    CueKind.SEQUENCE: (
        "premièrement|d'abord|tout d'abord|deuxièmement|troisièmement|ensuite|enfin"
        "|finalement|par la suite|en dernier lieu|dans l'ordre|seulement après"
    ),
    CueKind.ORDINAL: "puis|premier|première|deuxième|troisième|dernier",
    CueKind.ORDER: "avant|avant de|après|jusqu'à ce que|dès que",
    CueKind.TEMPORAL: (
        "jusqu'au|jusqu'à|à partir du|à partir de|à compter du|à compter de|avant le|après le"
        "|depuis|en vigueur|dans un délai de|dans les|pendant|au plus tard|rétroactif"
        "|rétroactivement|expire|délai|auparavant"
    ),
    CueKind.CAUSE: (
        "parce que|parce qu'|à cause de|en raison de|car|puisque|étant donné que|grâce à|dû à"
    ),
    CueKind.RESULT: (
        "donc|par conséquent|ainsi|c'est pourquoi|en conséquence|entraîne|entraînent|conduit à"
        "|conduisent à|provoque|provoquent|cause|causent|de sorte que|pour que|afin que"
    ),
    CueKind.TENDENCY: (
        "généralement|habituellement|souvent|fréquemment|d'habitude|tend à|tendent à|en général"
        "|dans la plupart des cas|parfois|rarement|normalement|par défaut"
    ),
    CueKind.ADVICE: (
        "règle empirique|bonne pratique|bonnes pratiques|il est recommandé|est recommandé"
        "|recommandé|préférez|il vaut mieux|envisagez|il convient|de préférence|en cas de doute"
    ),
    CueKind.MODEL: (
        "pensez à|est comme|sont comme|agit comme|fonctionne comme|analogie|modèle mental"
        "|imaginez|peut être vu comme|métaphore"
    ),
    CueKind.OPINION: (
        "je pense que|nous pensons que|je crois que|nous croyons que|à mon avis|à notre avis"
    ),
    CueKind.HEDGE: "peut-être|probablement|il se peut|semble|semblent|suggère|pourrait",
    CueKind.GAP: (
        "limitation|limitations|réserve|pas encore|n'est pas clair|inconnu|inconnue|incertain"
        "|on ne sait pas|non précisé|reste à"
    ),
    CueKind.ASSUMPTION: "suppose|supposons|présume|hypothèse|présuppose",
    CueKind.OUTDATED: "obsolète|dépassé|n'est plus|ne sont plus|autrefois|a été remplacé",
    CueKind.DISPUTE: "en désaccord|contredit|contradiction|controversé|biais|incohérent",
    CueKind.PURPOSE: (
        "afin de|dans le but de|le but de|l'objectif de|est destiné à|vise à|pour aider"
    ),
    CueKind.CASE: "pendant|durant|tandis que",
    CueKind.NEGATION: "ne|n'est pas|n'|pas|sans|ni|aucun|aucune|nul|personne ne",
    CueKind.SUBSTITUTE: "au lieu de|plutôt que",
    CueKind.IDIOM: "en tant que|une fois par|plus d'une fois|à la fois",
}

# Nouns by which a text names what a part is; they say so of it, but cut no sentence.
NAMES: CueLists = {
    CueKind.PRECONDITION: "exigence|exigences|condition|conditions|prérequis|préalable",
    CueKind.SCOPE: "champ d'application|portée|éligibilité|restriction|restrictions",
    CueKind.EXCEPTION: "exception|exceptions|exemption|cas particulier|cas particuliers",
    CueKind.OVERRIDE: "dérogation",
    CueKind.SEQUENCE: "étape|étapes|procédure|comment",
    CueKind.PROHIBITION: "contre-indication|contre-indications",
}

UNITS = (
    "seconde secondes minute minutes heure heures jour jours semaine semaines mois trimestre"
    " trimestres an ans année années décennie décennies"
)
MONTHS = "janvier février mars avril mai juin juillet août septembre octobre novembre décembre"
RELATIVE = "précédent précédente suivant suivante prochain prochaine actuel même dernier dernière"
NUMERALS = (
    "un une deux trois quatre cinq six sept huit neuf dix onze douze quinze vingt trente"
    " quarante cinquante soixante cent"
)
ANAPHORA = "cet cette ces cela ceci celui celle ceux il elle ils elles tel telle tels"
AROUND = "sous après avant pendant chaque par dans de"
OPENERS = "pour pendant durant sous dans en avec chez hors entre"
VALID_FROM = "à partir du|à partir de|à compter du|depuis|depuis le|après le"
VALID_TO = "jusqu'au|jusqu'à|avant le|au plus tard le"
CLOSING = "enfin|finalement|en dernier lieu"
# Before a permission they make it a prohibition.
NOBODY = "aucun aucune nul nulle personne"
SCOPING = "pour sous hors"
# Their clause means the same without them.
PLAIN = "si lorsque quand"
CONJUNCTIONS = "et ou mais ni"
THEN = "alors"
QUESTION = "question q"
ANSWER = "réponse r"
