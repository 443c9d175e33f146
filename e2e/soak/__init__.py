"""Soak test: random faults between an operator and its API server.

`python -m e2e.soak` runs the website example against a control plane of the rig, through a proxy
that injects connection faults, while the server is killed, frozen and restarted, and objects are
created, changed and deleted. Every ten seconds the operator reports its number of tasks and sockets
and its memory. None of these may grow, and after the faults the objects have to match the Websites.
"""
