"""Token estimate. Pure."""

CHARACTERS_PER_TOKEN = 4


def estimate_tokens(text: str) -> int:
    """Four characters per token, rounded up."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)
