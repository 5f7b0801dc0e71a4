"""The six models of Jain & Wallace and how they are trained here, read off the code that trains them.

Source: the authors' final code (specification, sections 3.1 to 3.5); the paper's text is silent on most of it.
"""

import numpy as np
import pandas as pd

from attn_book.words import ENCODER_NAMES
from attn_core.corpora import catalogue
from attn_core.models.classifier import new_encoder
from attn_core.models.encoders import ENCODERS
from attn_core.runs import Run

ENCODERS_HERE = ("lstm", "cnn", "average")


def dimension(run: Run) -> int:
    """Length of a run's word vectors, the last part of its recipe's name."""
    return int(run.vectors.rsplit("-", 1)[1])


def built(run: Run):
    """The encoder of a run over a vocabulary of one word."""
    return new_encoder(ENCODERS[run.encoder], np.zeros((1, dimension(run)), np.float32), run.hidden)


def trainings(corpora: list[str]) -> pd.DataFrame:
    """One row for all data sets that are trained alike: their names, vectors, widths H, epochs, batch, optimiser, loss.

    Everything is the default of `Run`, so of the stored standard runs; widths are those of the built encoders.
    """
    rows = {}
    for corpus in corpora:
        runs = [Run(corpus, encoder) for encoder in ENCODERS_HERE]
        text, run = catalogue.corpus(corpus).task == "text", runs[0]
        weighted = "positives weighted by negatives / positives" if run.class_weights else "unweighted"
        settings = (
            f"{'random' if run.vectors.startswith('random') else 'trained beforehand'}, {dimension(run)}",
            " / ".join(str(built(one).width) for one in runs),
            run.epochs,
            run.batch,
            f"{run.learning_rate:g}",
            f"{run.decay:g}, {'none on attention' if text else 'on everything'}",
            f"binary cross-entropy, summed; {weighted}" if text else "cross-entropy, mean; unweighted",
            "ROC AUC" if text else "accuracy",
        )
        rows.setdefault(settings, []).append(corpus)
    names = ("word vectors", f"H: {' / '.join(ENCODER_NAMES[name] for name in ENCODERS_HERE)}", "epochs", "batch",
             "learning rate", "weight decay", "loss over a batch", "checkpoint by")  # fmt: skip
    return pd.DataFrame(
        [{"data": ", ".join(corpora)} | dict(zip(names, settings, strict=True)) for settings, corpora in rows.items()]
    )


def told_encoders() -> list[str]:
    """What each encoder does to a text and how it sums one up, with the widths of the standard models of SST."""
    lstm, cnn, average = (built(Run("sst", encoder)) for encoder in ENCODERS_HERE)
    kernels = [convolution.kernel_size[0] for convolution in cnn.convolutions]
    return [
        f"**BiLSTM**: one layer in each direction, {lstm.width // 2} units each; $h_t$ joins their two states at token "
        "$t$. Summary of a text: the last state of both directions.",
        f"**CNN**: convolutions over {', '.join(map(str, kernels[:-1]))} and {kernels[-1]} tokens, "
        f"{cnn.width // len(kernels)} filters each, then a ReLU; $h_t$ sees {kernels[-1] // 2} tokens to each side. "
        "Summary: the maximum over positions.",
        f"**Average**: a linear layer to {average.width} numbers and a hyperbolic tangent, on each word vector alone; "
        "no token sees another. What is averaged are these, by attention. Summary: the plain mean over positions.",
    ]
