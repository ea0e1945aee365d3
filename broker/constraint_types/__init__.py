"""The constraint types that come with the product: networks, places, versions.

They use the interface that everybody has (`broker.filters.constraint_types`), and nothing more.
"""
