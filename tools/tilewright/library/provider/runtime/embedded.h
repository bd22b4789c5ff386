/* What the generator puts into a provider: one constant `embedded`, defined in a file of its own. */
#ifndef TILEWRIGHT_EMBEDDED_H
#define TILEWRIGHT_EMBEDDED_H

#include <stdbool.h>
#include <stddef.h>

struct embedded_export {
    const char *declaration;        /* the name a kernel calls */
    const char *symbol;             /* the function in the device code */
    const char *parameters;         /* its parameters, "float %p0, float* %p1" */
    bool parametric;                /* the call supplies the tile size */
    const unsigned char *catalog;   /* Tile IR bytecode: the implementation of this export alone */
    size_t catalog_size;
};

struct embedded_library {
    const char *name;
    const struct embedded_export *exports;
    size_t export_count;
    const unsigned char *ir;        /* NVVM IR with typed pointers; only a preamble when there is LTOIR */
    size_t ir_size;
    const unsigned char *ltoir;     /* the bodies when they have no IR, else NULL */
    size_t ltoir_size;
    unsigned ltoir_arch;            /* 90 for compute_90, what it was compiled for */
    bool needs_libdevice;
};

extern const struct embedded_library embedded;

#endif
