"""The manifests in config/samples on a real node: what their comments wait for happens."""
