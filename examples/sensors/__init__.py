"""Producers on demand: machines that measure their load only while somebody, anywhere, wants to know it."""
