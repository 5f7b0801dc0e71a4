"""Encoder, attention, decoder: one small class each, shapes in comments."""
