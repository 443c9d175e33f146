"""Tools for tests of code built on the runtime.

Time that is moved by hand (clock) or by a seeded event loop (simulation), servers that follow a
script (scripted) or behave like the real one (api_server), a proxy that does to connections what
networks do (proxy), and waiting without sleeping (wait). Imported by tests only; may use
everything in runtime.
"""
