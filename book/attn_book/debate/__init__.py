"""All three papers together: the verdict matrix, the scorecard page, tests exchanged, open questions."""
