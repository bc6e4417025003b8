"""The embedded engine: a Llama in NumPy and its OpenAI-compatible server.

Importing this package loads nothing else: the number of BLAS threads has to be set
before NumPy is imported (see `kvtui.engine.server.main`).
"""
