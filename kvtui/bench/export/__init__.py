"""A run's results as files for others; the forms that there are, by name."""

SHAPES = ("text", "json", "csv", "markdown", "html", "svg", "commands")
PLOTS = ("throughput", "prompt", "position", "ttft", "tpot", "e2e")
"""What ``svg`` can show; which of them a run gives, depends on it."""
