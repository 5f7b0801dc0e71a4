"""What only the pages of the book need, and the build. Of attn_core the command line alone imports it."""

from attn_book.exercises import check as check
