"""`make fuzz`: damaged frames, then texts that may be filters; `--corpus` has texts to damage."""

from harness.fuzz import filters, frames

frames.main(args=[], standalone_mode=False)
filters.main()
