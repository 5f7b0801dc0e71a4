"""What is ours, beside the three papers: single-state agreement, known attentions, pretrained transformers."""
