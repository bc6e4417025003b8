"""One request on the wire: the SDK sends it, our own reader turns the bytes into events."""
