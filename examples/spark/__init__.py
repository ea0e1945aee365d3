"""A Spark job that reads events and publishes others."""
