"""The prompt before it is sent: its form, the files it comes from, the prompts from before."""
