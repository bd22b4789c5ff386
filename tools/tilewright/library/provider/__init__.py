"""The provider form of a tile library: a shared object that the assembler asks while a kernel compiles.

`runtime/` is the C side, which is compiled anew for each library.  It lies here and not in `tilewright/runtime/`, which
is where tile shaders run: a provider is one way of packing a library, and it runs inside the assembler.
"""
