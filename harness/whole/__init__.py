"""Whole brokers and clients, as they are in the product, over simulated streams of bytes, in one thread."""
