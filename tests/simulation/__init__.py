"""Tests in virtual time: random schedules of mutations, faults and restarts, each from a seed."""
