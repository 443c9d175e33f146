"""Unit tests of HCL quoting and rendering."""
