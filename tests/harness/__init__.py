"""The harness of the scenarios: what it decides by itself."""
