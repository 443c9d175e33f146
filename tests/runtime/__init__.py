"""Unit tests of the runtime: only scripted servers in this process, no real waiting."""
