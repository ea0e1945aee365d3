"""From a run's Parquet datasets to verdicts and figures, with Spark.

    from harness.analysis.session import session
    from harness.analysis.analyzing import analyze
    from harness.analysis.answers import write

Laws.

1. Everything that grows with a run is a DataFrame operation, or an Arrow-vectorised function of it. Only
   answers come to the driver.
2. All pairs of subscribers are compared, none is left out, whatever the number.
3. What the datasets do not say is unknown, with the reason, and never guessed.
4. The answers about order are those of `ordering.verdicts`, which works without Spark; a test compares the
two.

The way: `datasets` looks the directory through and numbers publications, `reading` goes once over
all deliveries and packs them, `subscribers` puts each stream together, `comparing` compares all pairs, block
by block, and sums them up, and `measures` and `witnesses` have what else was found for `answers`.
The arithmetic on arrays is in `kernels`. Only what workers need is imported with this package, so that it
can be shipped to them.
"""
