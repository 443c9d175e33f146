"""Shared services of datacenters: collects them from sources, runs them and removes them.

    sources -> merge -> records -> observe -> decide -> provision or deprovision -> progress

May use contracts, managers.context and the runtime. Called by baoctl.controllers.datacenter, and by
programs that embed `lifecycle.service.DatacenterService` with their own store and provider.
"""
