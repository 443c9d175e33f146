"""The promtool of a real Prometheus evaluates the alerts of deploy; no rig."""
