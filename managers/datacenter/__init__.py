"""Shared services of a datacenter: from what sources say to what runs, and back out again.

    sources -> merge -> rows -> observe -> decide -> provide or retire -> progress

May use contracts, managers.context and the runtime. Called by baoctl.controllers.datacenter, and by
whoever embeds `service.Service` with a store and a provider of their own.
"""
