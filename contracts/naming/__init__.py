"""The names, labels, ports and paths of the objects of clusters.

Pure; uses only the standard library, so that every package can import it.
"""
