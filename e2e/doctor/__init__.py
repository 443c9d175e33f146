"""`kubectl bao doctor` on clusters that are really broken: it names the cause first."""
