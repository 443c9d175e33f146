"""The two processes of the operator: composition, start and shutdown.

May use every package. Called by baoctl.verbs.process.
"""
