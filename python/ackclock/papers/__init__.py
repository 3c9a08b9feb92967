"""The experiments of papers: read from data, run, measured, judged and drawn.

``catalogue()`` reads every paper that ships with ackclock, ``catalogue(SUITES)`` the suites, ``own()`` the
papers of any folder, and ``reproduce`` runs some of their experiments.
No module here names an experiment. Its scenario, measures, bands and figures are in
``papers/<paper>/<experiment>.toml``, its own functions in ``papers/<paper>/measures.py`` or the files of
``papers/<paper>/measures``.
"""

from ackclock.cases.document import CaseError
from ackclock.cases.judgement import judge
from ackclock.cases.model import Judgement
from ackclock.papers.catalogue import SUITES, catalogue, own, select
from ackclock.papers.experiment import Experiment, Paper
from ackclock.papers.reproduction import Reproduction, reproduce

__all__ = [
    "SUITES",
    "CaseError",
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
