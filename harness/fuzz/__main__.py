"""`make fuzz`: damaged frames, spoilt journals, texts that may be filters (`--corpus` has some to damage)."""

from harness.fuzz import filters, frames, journals

frames.main(args=[], standalone_mode=False)
journals.main(args=[], standalone_mode=False)
filters.main()
