"""Live documents: one text that people and agents change at one time, and nobody's words go."""
