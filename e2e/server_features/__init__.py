"""Settings that only newer servers have, on one cluster that uses them all."""
