"""What `make bench` measures: matching filters, and throughput and latency of brokers beside a raw relay."""
