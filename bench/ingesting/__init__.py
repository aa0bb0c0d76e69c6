"""What the bench of taking files in stands on: a Pecia, a meter and files. No bench by itself."""
