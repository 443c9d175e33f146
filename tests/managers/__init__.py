"""Unit tests of `managers`: tables of decisions, and effects on a fake API server."""
