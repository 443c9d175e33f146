"""Tests of what the operator knows: tables over facts, and effects over a server in a dict."""
