"""`baoctl job upgrade`: one action on the raft configuration of the servers, and then the end.

Called by `baoctl.cli` in the pods of upgrade Jobs.
"""
