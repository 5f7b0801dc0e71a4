"""Plain twins of experiments.frontier."""

import numpy as np
import plain


def sharing(jsd, tvd, price):
    """(mean TVD, mean JSD) if each document takes the grid point that maximises JSD - price * TVD."""
    total_x = total_y = 0.0
    for values, costs in zip(jsd, tvd, strict=True):
        best = max(range(len(values)), key=lambda e: values[e] - price * costs[e])
        total_x, total_y = total_x + costs[best], total_y + values[best]
    return total_x / len(jsd), total_y / len(jsd)


def hull(y, x):
    """Indices on the upper concave hull of points rising in both, by Andrew's chain from the left."""
    kept = []
    for i in range(len(x)):
        if kept and x[i] == x[kept[-1]]:
            continue
        while len(kept) > 1:
            a, b = kept[-2], kept[-1]
            if (y[b] - y[a]) * (x[i] - x[a]) <= (y[i] - y[a]) * (x[b] - x[a]):
                kept.pop()
            else:
                break
        if not kept or y[i] > y[kept[-1]]:
            kept.append(i)
    return kept


def searched(traces, weights):
    """Rows (jsd, tvd, two, five), one document after another; one logit."""
    found = []
    for row, tokens, attention, _ in plain.documents(traces):
        p = plain.output_under(traces, row, attention)[1]
        jsd = [plain.jsd(w[tokens], attention) for w in weights]
        tvd = [abs(plain.output_under(traces, row, w[tokens])[1] - p) for w in weights]
        found.append((np.mean(jsd), np.mean(tvd), np.median(jsd[:2]), np.median(jsd)))
    return found


def tvd_at(jsd, tvd, at, settled, apart):
    """Mean TVD where the line through settled neighbours at most `apart` passes `at`; None where none does."""
    found = []
    for i in range(len(jsd) - 1):
        low, high = sorted((jsd[i], jsd[i + 1]))
        if settled[i] and settled[i + 1] and low < high and high - low <= apart and low <= at <= high:
            found.append(tvd[i] + (at - jsd[i]) / (jsd[i + 1] - jsd[i]) * (tvd[i + 1] - tvd[i]))
    return sum(found) / len(found) if found else None
