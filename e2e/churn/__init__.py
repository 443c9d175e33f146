"""Measures the memory of an operator with many clusters, on a control plane without nodes.

    python -m e2e.churn gone --count 500
    python -m e2e.churn large --count 500

`gone` creates and deletes clusters with three servers each; `large` creates clusters of the maximum
size that the API server accepts. The operator, the API server and TLS are real; the controllers
that the control plane lacks, the kubelet and the responses of OpenBao are simulated. Uses the rig,
the harness, and of the product its names, `runtime` as a client, and the port of a server. Run by
`make soak`; nothing here is a test.
"""
