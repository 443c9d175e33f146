"""The operator is upgraded and rolled back, without an effect on running clusters."""
