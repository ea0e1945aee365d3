"""Producers on demand: machines that measure their load only while any client subscribes to it."""
