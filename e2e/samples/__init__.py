"""The manifests in config/samples on a real node: they reach what their comments wait for."""
