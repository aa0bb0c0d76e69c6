"""A small package without a fault, and the text that it was made from."""

from pecia.features.ckf.package.model import NO_DATE, Item, make_empty_body
from pecia.kernel.errors import Json

SOURCE = (
    "A refund is money returned to a buyer. "
    "Refunds must be paid within 14 days. "
    "Unless the item is damaged, shipping is not refunded. "
    "First open the case, then pay the buyer."
)
SENTENCES = [f"{it.rstrip('.')}." for it in SOURCE.split(". ")]


def traced(item_id: str, sentence: int, basis: str = "explicit") -> Item:
    excerpt = SENTENCES[sentence]
    start = SOURCE.index(excerpt)
    return {
        "extracted_item_id": item_id,
        "source_location": "document#L1-L1",
        "source_excerpt": excerpt,
        "extraction_type": basis,
        "source_char_start": start,
        "source_char_end": start + len(excerpt),
    }


def claim(sentence: int, **fields: Json) -> Item:
    return {
        **fields,
        "source_basis": "explicit",
        "confidence": 0.92,
        "source_refs": ["s_001"],
        "source_excerpts": [SENTENCES[sentence]],
    }


def sample() -> Item:
    """A fresh body each time, to be spoilt by a test."""
    body = make_empty_body()
    body["metadata"] = {
        "package_id": "refunds-1",
        "protocol_version": "ckf-1.0",
        "source_type": "policy",
        "source_title": "Refunds",
        "source_author": "unknown",
        "domain": "business",
        "subdomains": ["returns"],
        "language": "en",
        "created_at": NO_DATE,
        "compression_level": "standard",
        "human_readability": 0.7,
        "ai_utility_score": 0.81,
    }
    body["core_intent"] = {
        "primary_purpose": "Say when buyers get their money back.",
        "intended_user": "support",
        "intended_agent_use": "Answer questions about refunds.",
        "transformation_goal": "",
        "key_value": "",
    }
    body["domain_map"] = {"main_domain": "business"}
    body["concepts"] = [
        claim(0, id="con_refund", label="refund", definition="money returned to a buyer")
    ]
    body["decision_rules"] = [
        claim(1, id="dec_refunds_paid", condition="a refund is due", decision="pay in 14 days")
    ]
    body["exceptions"] = [
        claim(
            2,
            id="exc_damaged_item",
            general_rule="shipping is not refunded",
            exception_case="the item is damaged",
            modifies=["dec_refunds_paid"],
        )
    ]
    body["procedures"] = [
        claim(
            3,
            id="proc_refund",
            name="Refund a buyer",
            steps=[{"step": 1, "action": "open the case"}, {"step": 2, "action": "pay the buyer"}],
        )
    ]
    body["source_traceability"] = [
        traced("con_refund", 0),
        traced("dec_refunds_paid", 1),
        traced("exc_damaged_item", 2),
        traced("proc_refund", 3),
    ]
    return body
