"""Tests in virtual time: random schedules of writes, faults and restarts, each from a seed."""
