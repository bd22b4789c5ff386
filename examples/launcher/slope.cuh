#define SLOPE 0.125f
