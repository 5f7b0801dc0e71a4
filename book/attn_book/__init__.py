"""What only the pages of the book need: tables, figures and words of each paper, and the build.

attn_core never imports this package, its command line excepted.
"""

from attn_book.exercises import check as check
