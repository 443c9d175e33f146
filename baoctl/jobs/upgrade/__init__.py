"""`baoctl job upgrade`: executes one action on the raft configuration of the servers, and exits.

Called by baoctl.verbs.process in the pods of upgrade Jobs.
"""
