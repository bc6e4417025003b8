"""The tour: a main screen of its own that plays the steps, and what it runs on."""
