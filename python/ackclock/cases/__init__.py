"""Cases: scenarios with bounds on measures.

Experiments of papers and checks of controllers are cases. ``model`` has their data, ``document`` and
``reading`` read files, ``judgement`` compares measured values with bounds.
"""
