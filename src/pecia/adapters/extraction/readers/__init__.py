"""One reader a family of formats. They run in the child alone, and may fail in any way."""
