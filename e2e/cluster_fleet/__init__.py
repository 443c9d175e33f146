"""Measures the cost of many clusters: requests, time, CPU, memory, and how each of them grows.

    python -m e2e.cluster_fleet --clusters 10 --clusters 100 --clusters 300

Uses the rig, the harness and e2e.simulation. Run by `make bench-clusters`; nothing here is a test.

| phase | what happens |
|---|---|
| create | all clusters are created together, until each is Available with all voters |
| quiet | nothing |
| change | one cluster of a hundred gets another annotation of its Service, one after the other |
| roll | all servers of all clusters are restarted together |
| failover | the leading operator is stopped, and its standby becomes the leader |
| outage | the API server is stopped for some seconds |
"""
