/* NVVM IR to LTOIR by the libNVVM of the toolkit that the running assembler belongs to. */
#ifndef TILEWRIGHT_NVVM_H
#define TILEWRIGHT_NVVM_H

#include "text.h"

/* Compiles IR text for `arch` ("compute_90a").  The LTOIR is for the caller to free; NULL with the reason in `fault`
 * otherwise.  Looks below CUDA_ROOT, CUDA_HOME, CUDA_PATH, then the folder above the running program's; `log` gets
 * the file that was taken. */
unsigned char *nvvm_compile(const struct text *ir, const char *arch, bool needs_libdevice, size_t *size,
                            struct text *fault, struct text *log);

#endif
