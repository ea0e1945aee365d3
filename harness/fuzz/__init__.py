"""Fuzz targets: random input for what reads from strangers."""
