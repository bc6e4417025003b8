"""What happens after the first frame, off the UI thread: catalogue, cards, session, endpoint.

``start`` does it all, from what ``prompt`` and ``settings`` make of options and configuration;
``sessions`` holds the endpoint's session from then on and exchanges it.
"""
