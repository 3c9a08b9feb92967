"""Linux as a witness: its controllers and queue disciplines, measured and compared with the simulated ones.

    python -m witness modules        congestion controllers, a lone flow of each
    python -m witness disciplines    queue disciplines under datagrams and greedy flows

Both make network namespaces, so they need root, ``ip`` and ``tc``. With ``--engine uml`` they measure a
kernel in virtual time, without root. Otherwise measuring needs nothing of ackclock: ``--to FILE`` writes the
kernel's results and simulates nothing, on any machine that has this folder. ``--from FILE`` reads that file
in place of measuring.
"""
