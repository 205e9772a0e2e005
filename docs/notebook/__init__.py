"""`five-questions.ipynb`, with verified outputs: `run_notebook` executes its cells.

No kernel is needed for that: a cell is Python, its last expression is its output. `python -m docs.notebook` writes the
outputs anew; a test holds them. Any Jupyter opens and runs it too.
"""
