"""Plain twins of experiments.frontier."""

import numpy as np
import plain


def searched(traces, weights):
    """Rows (jsd, tvd, two, five), one document after another; one logit."""
    found = []
    for row, tokens, attention, _ in plain.documents(traces):
        p = plain.output_under(traces, row, attention)[1]
        jsd = [plain.jsd(w[tokens], attention) for w in weights]
        tvd = [abs(plain.output_under(traces, row, w[tokens])[1] - p) for w in weights]
        found.append((np.mean(jsd), np.mean(tvd), np.median(jsd[:2]), np.median(jsd)))
    return found


def tvd_at(jsd, tvd, at):
    """Mean TVD where the line through neighbours passes `at`; None where none does."""
    found = []
    for i in range(len(jsd) - 1):
        low, high = sorted((jsd[i], jsd[i + 1]))
        if low < high and low <= at <= high:
            found.append(tvd[i] + (at - jsd[i]) / (jsd[i + 1] - jsd[i]) * (tvd[i + 1] - tvd[i]))
    return sum(found) / len(found) if found else None
