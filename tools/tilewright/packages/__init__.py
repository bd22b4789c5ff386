"""Packages: built tile libraries as reproducible archives and wheels that other builds install, and their check."""
