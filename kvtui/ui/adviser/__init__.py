"""The adviser's line: from what was measured and worked out, the one sentence most worth saying."""
