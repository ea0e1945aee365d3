"""The benchmarks of `make bench`: matching, and throughput and latency of brokers beside a raw relay."""
