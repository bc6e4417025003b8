"""The endpoint as the screen knows it: what it is, which others there are, what its server says."""
