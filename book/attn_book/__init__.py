"""What the pages of the book call: parameters, figures, tables, the scorecard. What builds the book is `attn_build`."""

from attn_book.exercises import check as check
