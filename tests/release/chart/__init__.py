"""Tests of the templates of the chart; helm itself runs in e2e/helm."""
