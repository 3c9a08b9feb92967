"""The experiments of papers: read from data, run, measured, judged and drawn.

``catalogue()`` gives every paper that ships with ackclock, ``catalogue(SUITES)`` the suites, ``own()`` those
of a folder of yours, and ``reproduce`` runs some of their experiments.
No module here knows an experiment: its scenario, measures, bands and figures are in
``papers/<paper>/<experiment>.toml``, its odd measures in ``papers/<paper>/measures.py``,
or in the files of ``papers/<paper>/measures``.
"""

from ackclock.papers.catalogue import SUITES, Experiment, Paper, catalogue, own, select
from ackclock.papers.document import CatalogueError
from ackclock.papers.judgement import Judgement, judge
from ackclock.papers.reproduction import Reproduction, reproduce

__all__ = [
    "SUITES",
    "CatalogueError",
    "Experiment",
    "Judgement",
    "Paper",
    "Reproduction",
    "catalogue",
    "judge",
    "own",
    "reproduce",
    "select",
]
