"""The Trio server around a node: sockets, TLS, timers, files, metrics. `server` is the way in."""
