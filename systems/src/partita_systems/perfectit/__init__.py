"""PerfectIt: how-to cards, votes, comments, collections."""
