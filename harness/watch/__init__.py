"""The live verdict on a running overlay: Structured Streaming reads subscriptions, pairs are compared."""
