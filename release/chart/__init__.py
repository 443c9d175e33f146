"""The Helm chart: templates made of the built overlays, and the files of deploy/chart.

Called by release.main and by the tests.
"""
