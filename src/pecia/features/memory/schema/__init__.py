"""What the room adds to the store, as numbered migrations."""
