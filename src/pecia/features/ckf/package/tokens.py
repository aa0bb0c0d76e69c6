"""How much a reader pays for a text. Pure."""

CHARACTERS_PER_TOKEN = 4


def estimate_tokens(text: str) -> int:
    """An estimate that every part of the room shares: four characters a token, rounded up."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)
