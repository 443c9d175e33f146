"""The command line, and the composition of the processes: settings, wiring, and the verbs.

The top layer: it may import every other package, and none of them imports it. It makes no decision
about a cluster.
"""

__version__ = "0.1.0"
