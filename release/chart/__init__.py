"""The Helm chart: templates from the built overlays, and the files of deploy/chart.

Called by release.main and by the tests.
"""
