"""The names, labels, ports and paths of the objects of the operator. No other line builds a name.

Pure; uses the standard library alone, so that everything may use it.
"""
