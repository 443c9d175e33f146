"""Unit tests of the shared words: tables, golden files and properties; no server, no time."""
