"""The plain-loop twin of the arrays made of texts cut into sentences, text by text and word by word."""

from collections import Counter

from attn_lab.data.cleaning import cut


def encoded(splits: dict, min_count: int, most_sentences=None, longest_sentence=None) -> dict:
    """split -> [(row, ids with START and END, words per sentence)], and the vocabulary.

    splits: split -> texts. Only train is bounded.
    """
    cuts = {split: [cut(text) for text in texts] for split, texts in splits.items()}
    met = Counter(w for split in ("train", "dev") for text in cuts[split] for sentence in text for w in sentence)
    words = ["<pad>", "<unk>", "<s>", "</s>"]
    words += sorted(w for w, n in met.items() if n >= min_count and w not in words)
    made = {}
    for split, texts in cuts.items():
        made[split] = []
        for row, full in enumerate(texts):
            if not full:
                continue
            if split == "train":
                if most_sentences is not None and len(full) > most_sentences:
                    continue
                if longest_sentence is not None and max(map(len, full)) > longest_sentence:
                    continue
            ids = [words.index(w) if w in words[4:] else 1 for sentence in full for w in sentence]
            made[split].append((row, [2, *ids, 3], [len(sentence) for sentence in full]))
    return {"vocabulary": tuple(words), **made}
