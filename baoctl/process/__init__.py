"""The two processes of the operator: their clients, their composition, their start and their end.

May use everything; called by `baoctl.cli`.
"""
