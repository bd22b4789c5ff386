"""Kernel files to artifacts: capture in a process of its own, then one backend after another."""
