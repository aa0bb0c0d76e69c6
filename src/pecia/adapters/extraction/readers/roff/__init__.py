"""Manual pages: roff with the macros of man(7) and mdoc(7)."""
