"""The names, labels, ports and paths of the operator's objects. No other package builds a name.

Pure; uses only the standard library, so that every package can import it.
"""
