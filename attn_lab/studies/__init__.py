"""Is the attention of your model an explanation? The book's tests on your own texts, and on your own model."""
