"""The experiments of papers: read from data, run, measured, judged and drawn.

``catalogue()`` gives every experiment that ships with ackclock, ``reproduce`` runs some of them.
No module here knows an experiment: what is run, measured, accepted and plotted stands in
``papers/<paper>/<experiment>.toml``.
"""

from ackclock.papers.catalogue import CatalogueError, Experiment, Paper, catalogue, select
from ackclock.papers.judgement import Judgement, judge
from ackclock.papers.reproduction import Reproduction, reproduce

__all__ = [
    "CatalogueError",
    "Experiment",
    "Judgement",
    "Paper",
    "Reproduction",
    "catalogue",
    "judge",
    "reproduce",
    "select",
]
