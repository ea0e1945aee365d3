"""`published`: total order as the paper resolves it (Algorithms 1 to 5), for comparison.

Never for production: it breaks the order that it is to keep. docs/explanation/order.md says how often and
shows the smallest schedules.

A broker that finds a possible conflict delivers none of its publications to the subscribers concerned until
neighbours have acknowledged. Those that wait for one subscriber are sorted by message id, that is publisher
and sequence. Three forms, by the option `form`:

- `basic` delivers the publications that wait for a subscriber when all are acknowledged, sorted.
- `progressive` delivers the acknowledged ones before the first that is not, sorted.
- `fast`, the default, is `progressive` with a detection that looks for pairs of hops only, and nothing on a
  publication but the two flags.

The text is ambiguous or contradicts itself in places. How it is read here, and why:

1. `conflictResolution(p, h, nh(t), s)` in Algorithm 1 against its parameters `(p, h, g, t)` in Algorithm 2.
   In the call h has the advertisement and nh(t) is the other side; in the body h waits and g, which must be
   the undefined f, is asked. Section IV-D says that requests go "to next hops with conflicting
   advertisements", IV-F that w waits for a request sent along r. So h of the call is asked, and nh(t) waits.
2. The subscription that is stored and travels is t, the one that waits, not s: Algorithm 3 lets
   "h = nh(c)" wait on the broker that receives it, and s is not behind that broker.
3. "find another matching t or skip loop to next h": all t are tried, and nothing is left out when one was
   found, because the proof of Theorem 8 has the algorithm check "every advertisement and subscription".
4. `isMatching(a, s and t)`: an event in all three. Filters are compared two at a time; s and t share p
   already, and a overlaps s by `pubs`, so what is left is whether a overlaps t. That may see a conflict too
   many, never one too few, and is exact for intervals (boxes that meet pairwise meet).
5. "else" in Algorithm 4 is what happens if acks(p, h) is not empty, although it is printed one step further
   in: the text has it ensure "that there are no additional conflicts detected". Additional means here: a
   hop that waits for nothing but the broker that asks is not one. Read otherwise, two brokers that are both
   asked and made to wait, by one in their middle, wait for each other for ever.
6. A subscriber cannot answer. Where Algorithm 4 would append a subscriber to acks(p, in), what that
   subscriber waits for is appended.
7. `acks(p)` in line 9 of Algorithm 3 is acks(p, in).
8. Line 3 of Algorithm 3 delays a subscriber as line 6 of Algorithm 2 does.
9. "for all h" in Algorithm 5 is a loop: each hop for itself, `in` among those that have acknowledgements to
   await.
10. An acknowledgement that is never given, because a link was lost, is awaited for ever: the proof of
    Theorem 10 has the delivery "deferred indefinitely".
11. A hop of the paper is a link or a client; ours is a link or one subscription. Advertisements of local
    publishers are on no hop that a publication goes to, and play no part.

What the text leaves open: the flags are the mark. Copies with a flag are numbered per link and direction, and
an acknowledgement names that number. The subscriptions of reading 2 go as notes right before the publication.
"""

from ordering.published.plugin import Published

__all__ = ["Published"]
