"""The names, labels, ports and paths that the operator gives to things. No other line builds a
name.

Pure; uses the standard library alone, so that everything may use it.
"""
