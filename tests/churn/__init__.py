"""e2e.churn."""
