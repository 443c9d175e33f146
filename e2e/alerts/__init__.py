"""The promtool of a real Prometheus evaluates the alerts and parses the dashboard; no rig."""
