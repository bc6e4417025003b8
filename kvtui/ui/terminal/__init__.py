"""What stands between the app and the terminal: output, pasted text, signals."""
