"""Theory of congestion control, as pure functions that measurements are laid beside.

| module | family |
| --- | --- |
| ``rules`` | vector diagrams of linear and binomial rules |
| ``responses``, ``bic`` | response functions, their slopes, crossings and exponents of RTT unfairness |
| ``illinois`` | increase and decrease over the delay, the alpha-beta plane, epochs |
| ``gentle``, ``rounds`` | steady state and start of TCP-Gentle; Gentle and YeAH round by round |
| ``networks``, ``allocation`` | alpha-fair and max-min fair rates, the test of proportional fairness |
| ``dynamics`` | primal, exact primal, dual and primal-dual algorithms as differential equations |
| ``drift``, ``stability`` | the drift model of TCP with link errors: equilibrium, course, delay margins |
| ``figures`` | the figures of the thesis that need no run |

The main source is T. A. Edwan, "Improved Algorithms for TCP Congestion Control", PhD thesis, Loughborough
University, 2010, "the thesis" in these modules. If its printed text is wrong, the docstring says so. Its
loss differentiation is ``ackclock.interarrival``, which ``ackclock read CAPTURE --losses`` uses. SciPy and
Clarabel are imported by the functions that use them (``pip install scipy clarabel``).
"""
