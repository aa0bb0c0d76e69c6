"""Memory: what agents keep."""
