"""A language model under the papers' tests: SmolLM2-135M, frozen, with a head on its states or asked by a prompt.

Not in the three papers.

Written before the runs, 28 November 2026, after a pilot of one prompt and 40 texts of SST. We expect:

- (a) Single-state agreement rises with the place in the text, at each of the depths 10 to 30, and crosses 80 % in the
  second half of the text at one of them.
- (b) Among the rankings, with a prompt, attention x gradient is nearest to deletion of whole words, by the share of
  texts whose first words are the same; the last layer's attention is not above a lexicon.
- (c) No head is as accurate on SST as fine-tuned MiniLM, and a prompt, mean of six, is less accurate than a bag of
  words. From depth 10 on fewer than one decision in ten flips under uniform weights.
- (d) Two prompts give the same decision in fewer than 80 % of texts.
"""
