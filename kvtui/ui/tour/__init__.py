"""The tour: the article's steps, run live on the embedded engine and explained in a line each."""
