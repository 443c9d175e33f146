"""Unit tests of Jobs: no cluster, and no servers except on loopback."""
