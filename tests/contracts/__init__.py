"""Unit tests of `contracts`: tables, golden files and properties, without servers and clocks."""
