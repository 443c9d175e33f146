"""A paused cluster: the operator writes nothing; and manual changes during a pause."""
