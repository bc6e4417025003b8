"""One screen for how fast an LLM endpoint streams, what its KV cache costs, and why it failed."""

__version__ = "0.1.0"
