"""Speed beside plain batched torch in the same process (`make bench`), and what makes the tables of data/measured."""
