"""The two processes of the operator: composition, start and shutdown.

May use everything; called by `baoctl.cli`.
"""
