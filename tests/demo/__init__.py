"""The pure modules of e2e.demo and e2e.measure; the demo itself tests the others."""
