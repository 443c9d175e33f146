"""The manifests in config/samples."""
