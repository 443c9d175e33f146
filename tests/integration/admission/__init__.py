"""The policies about specs on a real API server, asked by people with real tokens."""
