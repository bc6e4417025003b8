"""What drawing is made of: rows with roles, plots and their ticks, themes, what is hidden."""
