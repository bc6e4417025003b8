"""A run's results as files for others; the forms that there are, by name."""

SHAPES = ("text", "json", "csv", "markdown", "html")
