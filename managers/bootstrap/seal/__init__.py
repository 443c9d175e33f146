"""The seal of the servers: its Secret, its volumes and variables, its prerequisites and its keys.

Called by managers.bootstrap.plan, and by the resolve, observe, status and adminops steps of
managers.cluster.
"""
