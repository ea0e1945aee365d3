"""`make fuzz`: damaged frames, then spoilt journals."""

from harness.fuzz import frames, journals

frames.main([], standalone_mode=False)
journals.main([], standalone_mode=False)
