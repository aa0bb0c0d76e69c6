"""Detects the domain of a text by keywords, from a closed list. Pure."""

import re
from collections import Counter

FALLBACK_DOMAIN = "general knowledge"

_WORDS = {
    "education / learning science": "learn learning student students teacher teachers school course"
    " memory study curriculum classroom teaching lesson exam knowledge skill skills aluno ensino"
    " aprendizagem escola estudiante aprendizaje élève enseignement schüler lernen unterricht",
    "business": "customer customers market revenue price pricing sales product company strategy"
    " cost costs employee employees manager team budget invoice profit cliente mercado empresa"
    " venda ventas entreprise marché kunde kunden unternehmen umsatz",
    "legal": "law legal contract agreement party parties liability clause court tenant landlord"
    " statute regulation compliance consent license rights lei contrato cláusula ley derecho loi"
    " contrat gesetz vertrag recht haftung",
    "healthcare": "patient patients dose doses clinical clinician treatment medication drug symptom"
    " diagnosis therapy nurse hospital blood pregnancy paciente tratamento tratamiento médico"
    " traitement behandlung patienten arzt",
    "software": "server software code deploy deployment database api cluster request response"
    " service services version release cache network user users data system log backup script"
    " servidor sistema software serveur logiciel datenbank",
    "science": "experiment hypothesis theory study sample measurement model results evidence method"
    " species cell energy temperature statistical data researchers experimento hipótesis pesquisa"
    " expérience hypothèse hypothese messung forschung",
}


def detect_domain(lowered: str) -> str:
    """The domain with the most keyword matches, or general knowledge if there are few."""
    counts = Counter(_WORD.findall(lowered, 0, _SAMPLE))
    score, domain = max(
        (sum(counts[it] for it in set(words.split())), name) for name, words in _WORDS.items()
    )
    return domain if score >= _ENOUGH else FALLBACK_DOMAIN


_SAMPLE = 40_000
_ENOUGH = 3
_WORD = re.compile(r"[^\W\d_]{3,}")
