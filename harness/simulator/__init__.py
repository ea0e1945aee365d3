"""Many broker cores in one thread over a virtual network, everything that happens drawn from one seed."""
