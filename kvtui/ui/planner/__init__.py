"""The planner without its screen: fields as text in, a frozen state out; no widget in it."""
