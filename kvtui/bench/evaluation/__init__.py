"""What the figures say: findings, results, comparisons with other runs and tools."""
