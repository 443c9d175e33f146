"""An API server in this process: what clients, reflectors and owned apply see of a real one.

Not a server to deploy and not a reference: whatever tests/contract finds to differ from a real
kube-apiserver is a defect here. It has no admission, no defaulting, no conversion, no controllers
and no garbage collection.

Made of: storage (objects and history), schema and fields (what a field path is), managed (who
owns which), writes and apply (the verbs that change something), reads, watching, server (routes),
and three ways in: wire for a client in the same loop, faults for what goes wrong on the way, and
http for everything that speaks to a socket.
"""
