"""Sources that are written by program from declarations of the engine.

``PYTHONPATH=tools .venv/bin/python -m written`` writes them anew. A test says if one is not current.
"""
