"""Events into figures, by the definitions of the design."""
