"""The models, the training, the tests and the measures of three 2019 papers on whether attention explains a model.

All of it takes arrays: it knows no corpus by name, no file and no store; those lie in attn_lab.

    documents   texts as ids, offsets and labels        models      encoders, attention, the classifier
    training    the papers' loops, with three hooks     tracing     from a trained model to traces
    traces      what is kept of a text                  experiments the papers' tests: functions of traces
    measures    TVD, JSD, scores, intervals             fast        faster forms of two of these
"""

import os

# A thread that waits for another looks 3,000 times before it sleeps. GNU's 300,000 make a training
# beside other programs over twice as slow; none, half as slow again on an idle machine. No number changes. The
# setting is read when torch is loaded, which no import of this package does before it.
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", "3000")
