"""What a benchmark asks: stages, prompts, limits."""
