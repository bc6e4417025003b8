"""Requests run, one or many: the session, workloads, records."""
