"""The operator is upgraded and taken back: running clusters notice nothing."""
