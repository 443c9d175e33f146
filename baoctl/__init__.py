"""Command line and composition: flags to settings, wiring, one module per verb of the CLI.

The top layer: may import everything, is imported by nothing. Makes no decision about a cluster.
"""

__version__ = "0.1.0"
