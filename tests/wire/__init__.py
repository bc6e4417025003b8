"""Servers for the tests: one of known timing, one that replays recorded answers."""
