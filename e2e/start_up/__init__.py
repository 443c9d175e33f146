"""Start-up times of the verbs of `baoctl`: python -m e2e.start_up, called by `make start-up`."""
