"""What `decay.py` imports."""

TILE = 64
DECAY = 0.5
