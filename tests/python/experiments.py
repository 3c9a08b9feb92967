"""An experiment for tests, and measures on hand-made runs of it."""

from ackclock.cases.expressions import parse
from ackclock.cases.measure import Samples
from ackclock.papers.catalogue import read_experiment
from handmade import handmade

EXPERIMENT = """
id = "demo-fig1"
title = "A demonstration"
section = "1"
kind = "simulation"
status = "own result"
shows = "goodput"
repetitions = 3

[quick]
repetitions = 1
sweep = { "path.loss" = ["1%"] }

[sweep]
"path.loss" = ["0%", "1%", "4%"]

[scenario]
duration = "10s"
path = { rate = "8mbit", rtt = "40ms", queue = "20p", loss = "0%" }

[[runs]]
name = "one"
scenario = { flows = [{ cc = "newreno", name = "a" }, { cc = "newreno", name = "b", start = "4s" }] }

[[runs]]
name = "other"
scenario = { path = { queue = "50p" }, flows = [{ cc = "newreno", name = "a" }] }

[[figures]]
name = "demo"
kind = "against-sweep"
along = "path.loss"
x = { label = "loss (%)", times = 100 }
y = { label = "goodput (Mbit/s)", times = 1e-6 }
[[figures.panels]]
curves = [{ label = "a", cc = "newreno", measure = { metric = "goodput", run = "one", flow = "a" } }]
models = [{ label = "model", model = "mathis", along = "loss", rtt = "40ms", segment = "1448B" }]

[[figures]]
name = "time"
kind = "goodput-over-time"
bin = "5s"
y = { label = "goodput (Mbit/s)", times = 1e-6 }
[[figures.panels]]
run = "one"
where = { "path.loss" = "1%" }
labels = { a = "first" }

[[claims]]
id = "demo-c1"
kind = "reported-number"
text = "a gets 4 Mbit/s"
reported = 4.0e6
low = 3.0e6
high = 5.0e6
source = "section 1"
[claims.measure]
metric = "goodput"
run = "one"
flow = "a"
from = "2s"
to = "6s"
where = { "path.loss" = "1%" }
"""

WHERE = {"path.loss": "1%"}
CELL = ("one", (("path.loss", "1%"),))


def read(folder, text, measures=None):
    path = folder / "fig1.toml"
    path.write_text(text)
    return read_experiment(path, "demo", measures)


def value(experiment, tree):
    """The value of an expression over three repetitions of the hand-made run."""
    expression = parse(tree, experiment, "here")
    samples = Samples()
    for condition, sample in expression.demands():
        samples.want(condition, sample)
    for condition in samples.conditions():
        for repetition in range(3):
            samples.add(condition, repetition, handmade())
    return expression.value(samples)
