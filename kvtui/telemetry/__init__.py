"""What the server and the card say of themselves.

Nothing here asks anything of a server by itself: the owner starts a ``poller.TelemetryPoller``
(or takes one ``look.Look``) once the user has pressed a key or opened an endpoint on this machine.
"""
