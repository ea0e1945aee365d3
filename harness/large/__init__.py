"""Overlays of thousands of brokers and a million subscriptions, simulated by the product's cores.

`shape` says who is where and who wants what, `part` has the cores of one process, `lockstep` lets several
processes go from tick to tick together, and `survey` measures. Time is counted in ticks: what a core sends in
one tick arrives in the next, so a tick is the delay of a link, and cores take no time.
"""
