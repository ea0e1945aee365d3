"""Ready scenarios, one file each: `concord harness run NAME` finds them here."""
