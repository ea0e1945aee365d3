"""The Trio server around the core: connections, credit, queues, greeting. `server` is the way in."""
