"""Minutes of random faults between an operator and its API server.

`python -m e2e.soak` runs the website example against a control plane of the rig, through a proxy
that breaks connections in every way it knows, while the server itself is killed, frozen and
started again and somebody creates, edits, defaces and deletes. Every ten seconds the operator
tells how many tasks and sockets it has and how much memory. None of these may grow, and once the
faults end the world must be as the Websites want it.
"""
