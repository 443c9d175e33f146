"""A leader that was frozen and wakes up after somebody else took over."""
