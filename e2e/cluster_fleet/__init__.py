"""Measures the cost of many clusters: requests, time, CPU, memory, and how each of them grows.

    python -m e2e.cluster_fleet --clusters 10 --clusters 100 --clusters 300

Uses the rig, the harness and e2e.simulation. Run by `make bench-clusters`; nothing here is a test.

| phase | what happens |
|---|---|
| create | all clusters are created at once, until each is Available with all votes |
| quiet | nothing |
| change | one cluster of a hundred gets another annotation of its Service, one after the other |
| roll | all servers of all clusters are restarted at once |
| failover | the leading operator ends, and its standby takes over |
| outage | the API server is stopped for some seconds |
"""
