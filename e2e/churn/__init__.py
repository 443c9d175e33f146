"""Clusters on a control plane without nodes: what an operator keeps of them.

    python -m e2e.churn gone --count 500
    python -m e2e.churn large --count 500

The first come and go, with three servers each; the others are of the most that the API server
takes. The operator, the API server and TLS are real; the controllers that the control plane lacks,
the kubelet and the answers of OpenBao are simulated. Uses the rig, the harness, and of the product
its names, `runtime` as a client, and the port of a server. Run by `make soak`; nothing here is a
test.
"""
