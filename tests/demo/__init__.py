"""The pure parts of e2e.demo and e2e.measure; the rest is tested by running it."""
