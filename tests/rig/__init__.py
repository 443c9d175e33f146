"""Tests of the pure modules of the rig; the scenarios test the others."""
