"""C++ text that lets clang read MSL: headers under the names MSL includes, and the runtime that runs threads."""
