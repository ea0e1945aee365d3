"""`make fuzz`: damaged frames, the first target and so far the only one."""

from harness.fuzz.frames import main

main()
