"""Runs on disk: written as they go, listed, read, played again."""
