"""Sources of the miniature book of test_book.py: wide things, a page that waits, and prose."""

WIDE = """(wide)=
# A page with wide things

```{code-cell} ipython3
:tags: [parameters]

wide = 40
```

```{code-cell} ipython3
---
mystnb:
  figure: {name: fig-wide, caption: "Drawn if the run is there, {glue:text}`n` documents."}
---
import pandas as pd

from attn_book.page import glue

glue(n=3)
pd.DataFrame({"n": [-3]})
```

{numref}`fig-wide` keeps its label.

```{code-cell} ipython3
pd.DataFrame({f"column_{i}": [f"value_{i}"] for i in range(wide)})
```

$$ x = a_1 + a_2 + a_3 + a_4 + a_5 + a_6 + a_7 + a_8 + a_9 + a_{10} + a_{11} + a_{12} + a_{13} + a_{14} + a_{15} $$
"""
WAITING = """(waiting)=
# A page that can do nothing without a run

Its text before the parameters.

## Parameters

```{code-cell} ipython3
:tags: [parameters]

corpus = "imdb"
```

```{code-cell} ipython3
from attn_book.page import glue
from attn_lab import Run, obtain

result = obtain(Run(corpus, seed=999_999_999))
glue(n=1)
```

(waiting-inside)=
## Never reached

{glue:text}`n` and {numref}`fig-waiting`.

```{code-cell} ipython3
---
mystnb:
  figure: {name: fig-waiting, caption: "Not drawn."}
---
result
```
"""
FRONT = """# Front

See {doc}`wide`, {ref}`waiting`, {ref}`a place inside it <waiting-inside>`, {ref}`the notation <notation>`, \
{prf:ref}`def-x` and {cite:t}`jain2019attention`.

(notation)=
## Notation

(evidence-jw-08)=
Some evidence.

```{prf:definition} X
:label: def-x
$x$
```

| a | b |
| --- | --- |
| `a_very_long_name_without_any_blank_in_it = 'and_a_value_to_match'` | short |
"""
