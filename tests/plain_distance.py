"""Plain twins of experiments.distance: loops over documents and tokens, as one would write them first."""

import numpy as np
import plain
from plain import documents, jsd, output


def against(base, other):
    """Rows (doc_id, predicted, max_attention, jsd, tvd), one document after another."""
    place = {doc_id: row for row, doc_id in enumerate(other.doc_id)}
    found = []
    theirs = {row: (attention, contribution) for row, _, attention, contribution in documents(other)}
    for row, _, attention, contribution in documents(base):
        doc_id = base.doc_id[row]
        if doc_id not in place:
            continue
        second, weights = theirs[place[doc_id]]
        p = output(attention @ contribution + base.bias.astype(np.float64))
        q = output(second @ weights + other.bias.astype(np.float64))
        predicted = int(round(p[1])) if len(base.bias) == 1 else int(np.argmax(p))
        found.append((doc_id, predicted, max(attention), jsd(attention, second), 0.5 * sum(abs(p - q))))
    return found


def searched(traces, weights):
    """Rows (jsd, tvd, two), one document after another; one logit."""
    found = []
    for row, tokens, attention, _ in plain.documents(traces):
        p = plain.output_under(traces, row, attention)[1]
        jsd = [plain.jsd(w[tokens], attention) for w in weights]
        tvd = [abs(plain.output_under(traces, row, w[tokens])[1] - p) for w in weights]
        found.append((np.mean(jsd), np.mean(tvd), np.median(jsd[:2])))
    return found
