"""Declarations and wrappers of a library for every tile language, generated from its description."""
