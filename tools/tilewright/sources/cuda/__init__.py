"""The CUDA C++ front end: `[[tile_export(...)]]` on device functions, native wrappers, user headers in memory."""
