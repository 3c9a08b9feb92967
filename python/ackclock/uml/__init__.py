"""Linux as a program in virtual time (User-Mode Linux): building it, and running work in it.

``build`` makes the kernel from sources that the user has, with the configuration of ``recipe``. ``kernels``
finds the kernels that were built. ``machine`` starts one, ``guest`` is the program that runs in it.
"""
