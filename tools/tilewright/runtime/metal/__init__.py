"""Running MSL on a Mac through PyObjC. No Mac has run this code: its tests execute MSL on the CPU behind a stand-in."""
