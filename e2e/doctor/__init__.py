"""`kubectl bao doctor` on clusters with real faults: it reports the cause first."""
