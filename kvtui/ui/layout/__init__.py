"""Which size class the screen has, and where its panes' borders stand."""
