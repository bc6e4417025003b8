"""One request through the session: endpoint, keys, connections, what was sent."""
