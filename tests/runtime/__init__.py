"""Unit tests of the runtime: no servers but scripted ones in this process, no real waiting."""
