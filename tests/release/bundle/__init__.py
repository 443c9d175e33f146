"""Tests of the bundle for OLM; the validators of the Operator Framework run in e2e/olm."""
