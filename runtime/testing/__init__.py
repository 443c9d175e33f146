"""Test tools for code that uses the runtime.

A manual clock (clock), an event loop in virtual time with a seed (simulation), a server that
follows a script (scripted) and one that behaves like the API server (api_server), a proxy that
injects network faults (proxy), and polling with a deadline (wait). Imported by tests only; may use
everything in runtime.
"""
