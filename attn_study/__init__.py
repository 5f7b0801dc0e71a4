"""Is the attention of your model an explanation? The book's tests on your own texts, `attn_core.study`.

attn_core asks for its functions by name (`attn_core.LAZY`), so they bear the names of their modules and none is
bound here.
"""
