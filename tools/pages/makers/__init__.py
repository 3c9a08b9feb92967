"""The makers of tables, a module for each kind. Every module of this folder is imported."""
