// CUDA C++ on the CPU: the language's own words, the thread indices, warp functions in lockstep, rounding intrinsics.
//
// A warp is 32 fibers. A warp function stores its lane's value and leaves to the scheduler, which lets the lanes of a
// mask go on when all of them have come. So divergent code behaves as on a GPU, and lanes that wait in vain are found.
#pragma once
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#define TILEWRIGHT_ENTRY extern "C" __attribute__((visibility("default")))
#define __device__
#define __host__
#define __global__
#define __constant__
#define __managed__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))

#if __has_include(<vector_functions.h>)
#include <vector_types.h>
#include <vector_functions.h>
#endif

namespace tilewright_host {

struct Index {
    unsigned int x = 0, y = 0, z = 0;
};

constexpr int lanes = 32;
constexpr size_t stack_size = 256 * 1024;

struct Lane {
    ucontext_t context;
    bool finished = false;
    bool waiting = false;
    const char *operation = "";
    unsigned int mask = 0;
    uint64_t value = 0;
    uint64_t seen[lanes] = {};
};

struct Warp {
    ucontext_t scheduler;
    Lane lane[lanes];
    int current = 0;
    std::string fault;
    void (*body)(void *, int) = nullptr;
    void *argument = nullptr;
};

inline Warp *warp = nullptr;
inline unsigned int first_thread = 0;

}  // namespace tilewright_host

inline tilewright_host::Index threadIdx, blockIdx, blockDim{1, 1, 1}, gridDim{1, 1, 1};
inline constexpr int warpSize = tilewright_host::lanes;

namespace tilewright_host {

inline void resume(int lane) {
    warp->current = lane;
    threadIdx.x = first_thread + lane;
    swapcontext(&warp->scheduler, &warp->lane[lane].context);
}

[[noreturn]] inline void give_up(const std::string &fault) {
    if (!warp) throw std::runtime_error(fault);
    warp->fault = fault;
    for (;;) swapcontext(&warp->lane[warp->current].context, &warp->scheduler);
}

inline void enter() {
    Warp &w = *warp;
    const int lane = w.current;
    try {
        w.body(w.argument, lane);
    } catch (const std::exception &error) {
        w.fault = error.what();
    }
    w.lane[lane].finished = true;
    for (;;) swapcontext(&w.lane[lane].context, &w.scheduler);
}

// The values of all lanes of the mask, once they all have called the same function with the same mask.
inline const uint64_t *together(const char *operation, unsigned int mask, uint64_t value) {
    if (!warp) give_up(std::string("`") + operation + "` needs a warp, and the export does not say sync = \"warp\"");
    Lane &lane = warp->lane[warp->current];
    if (!(mask >> warp->current & 1u))
        give_up(std::string("`") + operation + "`: lane " + std::to_string(warp->current) + " is not in its own mask");
    lane.operation = operation;
    lane.mask = mask;
    lane.value = value;
    lane.waiting = true;
    swapcontext(&lane.context, &warp->scheduler);
    return lane.seen;
}

// Whether every lane that this one waits for has come.
inline bool complete(int number) {
    const Lane &lane = warp->lane[number];
    for (int other = 0; other < lanes; ++other) {
        if (!(lane.mask >> other & 1u)) continue;
        const Lane &partner = warp->lane[other];
        if (!partner.waiting || partner.mask != lane.mask || strcmp(partner.operation, lane.operation)) return false;
    }
    return true;
}

inline void release(int number) {
    const unsigned int mask = warp->lane[number].mask;
    uint64_t values[lanes];
    for (int lane = 0; lane < lanes; ++lane) values[lane] = warp->lane[lane].value;
    for (int lane = 0; lane < lanes; ++lane)
        if (mask >> lane & 1u) {
            memcpy(warp->lane[lane].seen, values, sizeof values);
            warp->lane[lane].waiting = false;
        }
}

inline std::string waiting_in_vain() {
    for (int lane = 0; lane < lanes; ++lane)
        if (warp->lane[lane].waiting)
            return "lane " + std::to_string(lane) + " waits in `" + warp->lane[lane].operation +
                   "` for lanes that never come";
    return "";
}

inline std::string schedule() {
    for (;;) {
        bool all_finished = true, progress = false;
        for (int lane = 0; lane < lanes; ++lane) {
            if (warp->lane[lane].finished) continue;
            all_finished = false;
            if (warp->lane[lane].waiting) continue;
            resume(lane);
            if (!warp->fault.empty()) return warp->fault;
            progress = true;
        }
        if (all_finished) return "";
        for (int lane = 0; lane < lanes; ++lane)
            if (warp->lane[lane].waiting && complete(lane)) {
                release(lane);
                progress = true;
            }
        if (!progress) return waiting_in_vain();
    }
}

// Runs body(0) to body(31) as one warp; what went wrong, or nothing.
template <typename Body> std::string run_warp(Body body) {
    static char *stacks = static_cast<char *>(malloc(lanes * stack_size));
    Warp here;
    here.body = [](void *argument, int lane) { (*static_cast<Body *>(argument))(lane); };
    here.argument = &body;
    warp = &here;
    for (int lane = 0; lane < lanes; ++lane) {
        ucontext_t &context = here.lane[lane].context;
        getcontext(&context);
        context.uc_stack.ss_sp = stacks + lane * stack_size;
        context.uc_stack.ss_size = stack_size;
        context.uc_link = nullptr;
        makecontext(&context, enter, 0);
    }
    std::string fault = schedule();
    warp = nullptr;
    return fault;
}

template <typename T> uint64_t bits_of(T value) {
    static_assert(sizeof(T) <= 8, "a lane exchanges up to eight bytes");
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    return bits;
}

template <typename T> T value_of(uint64_t bits) {
    T value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

inline int lane_id() { return warp ? warp->current : int(threadIdx.x % lanes); }

template <typename T>
T shuffle(const char *operation, unsigned int mask, T value, int source, bool inside) {
    const uint64_t *seen = together(operation, mask, bits_of(value));
    const int lane = warp->current;
    return value_of<T>(seen[inside && (mask >> source & 1u) ? source : lane]);
}

template <typename T, typename Fold> T reduced(const char *operation, unsigned int mask, T value, Fold fold) {
    const uint64_t *seen = together(operation, mask, bits_of(value));
    bool first = true;
    T total{};
    for (int lane = 0; lane < lanes; ++lane)
        if (mask >> lane & 1u) {
            const T next = value_of<T>(seen[lane]);
            total = first ? next : fold(total, next);
            first = false;
        }
    return total;
}

}  // namespace tilewright_host

template <typename T> T __shfl_sync(unsigned int mask, T value, int source, int width = 32) {
    const int lane = tilewright_host::lane_id();
    return tilewright_host::shuffle("__shfl_sync", mask, value, (lane & ~(width - 1)) | (source & (width - 1)), true);
}
template <typename T> T __shfl_up_sync(unsigned int mask, T value, unsigned int delta, int width = 32) {
    const int lane = tilewright_host::lane_id(), source = lane - int(delta);
    return tilewright_host::shuffle("__shfl_up_sync", mask, value, source & 31, source >= (lane & ~(width - 1)));
}
template <typename T> T __shfl_down_sync(unsigned int mask, T value, unsigned int delta, int width = 32) {
    const int lane = tilewright_host::lane_id(), source = lane + int(delta);
    return tilewright_host::shuffle("__shfl_down_sync", mask, value, source & 31, source <= (lane | (width - 1)));
}
template <typename T> T __shfl_xor_sync(unsigned int mask, T value, int other, int width = 32) {
    const int lane = tilewright_host::lane_id(), source = lane ^ other;
    return tilewright_host::shuffle("__shfl_xor_sync", mask, value, source & 31, source <= (lane | (width - 1)));
}
inline void __syncwarp(unsigned int mask = 0xffffffffu) { tilewright_host::together("__syncwarp", mask, 0); }
inline unsigned int __ballot_sync(unsigned int mask, int predicate) {
    const uint64_t *seen = tilewright_host::together("__ballot_sync", mask, predicate != 0);
    unsigned int votes = 0;
    for (int lane = 0; lane < 32; ++lane) votes |= unsigned((mask >> lane & 1u) && seen[lane]) << lane;
    return votes;
}
inline int __any_sync(unsigned int mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
inline int __all_sync(unsigned int mask, int predicate) { return __ballot_sync(mask, predicate) == mask; }
template <typename T> unsigned int __match_any_sync(unsigned int mask, T value) {
    const uint64_t mine = tilewright_host::bits_of(value);
    const uint64_t *seen = tilewright_host::together("__match_any_sync", mask, mine);
    unsigned int equal = 0;
    for (int lane = 0; lane < 32; ++lane) equal |= unsigned((mask >> lane & 1u) && seen[lane] == mine) << lane;
    return equal;
}
template <typename T> unsigned int __match_all_sync(unsigned int mask, T value, int *all) {
    const unsigned int equal = __match_any_sync(mask, value);
    *all = equal == mask;
    return *all ? mask : 0;
}
#define TILEWRIGHT_REDUCTION(name, type, expression)                                                        \
    inline type name(unsigned int mask, type value) {                                                       \
        return tilewright_host::reduced(#name, mask, value, [](type a, type b) -> type { return expression; }); \
    }
TILEWRIGHT_REDUCTION(__reduce_add_sync, unsigned int, a + b)
TILEWRIGHT_REDUCTION(__reduce_add_sync, int, int(unsigned(a) + unsigned(b)))
TILEWRIGHT_REDUCTION(__reduce_min_sync, unsigned int, b < a ? b : a)
TILEWRIGHT_REDUCTION(__reduce_min_sync, int, b < a ? b : a)
TILEWRIGHT_REDUCTION(__reduce_max_sync, unsigned int, a < b ? b : a)
TILEWRIGHT_REDUCTION(__reduce_max_sync, int, a < b ? b : a)
TILEWRIGHT_REDUCTION(__reduce_and_sync, unsigned int, a & b)
TILEWRIGHT_REDUCTION(__reduce_or_sync, unsigned int, a | b)
TILEWRIGHT_REDUCTION(__reduce_xor_sync, unsigned int, a ^ b)
#undef TILEWRIGHT_REDUCTION

#define TILEWRIGHT_SAME_BITS(name, from, to) \
    inline to name(from value) {             \
        to result;                           \
        memcpy(&result, &value, sizeof result); \
        return result;                       \
    }
TILEWRIGHT_SAME_BITS(__float_as_int, float, int)
TILEWRIGHT_SAME_BITS(__float_as_uint, float, unsigned int)
TILEWRIGHT_SAME_BITS(__int_as_float, int, float)
TILEWRIGHT_SAME_BITS(__uint_as_float, unsigned int, float)
TILEWRIGHT_SAME_BITS(__double_as_longlong, double, long long)
TILEWRIGHT_SAME_BITS(__longlong_as_double, long long, double)
#undef TILEWRIGHT_SAME_BITS

inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fsqrt_rn(float a) { return sqrtf(a); }
inline float __frcp_rn(float a) { return 1.0f / a; }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __dsqrt_rn(double a) { return sqrt(a); }
inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
inline float __fdividef(float a, float b) { return a / b; }
inline float __expf(float a) { return expf(a); }
inline float __exp10f(float a) { return exp10f(a); }
inline float __logf(float a) { return logf(a); }
inline float __log2f(float a) { return log2f(a); }
inline float __log10f(float a) { return log10f(a); }
inline float __sinf(float a) { return sinf(a); }
inline float __cosf(float a) { return cosf(a); }
inline float __tanf(float a) { return tanf(a); }
inline float __powf(float a, float b) { return powf(a, b); }
inline float __saturatef(float a) { return a > 0.0f ? (a < 1.0f ? a : 1.0f) : 0.0f; }
inline float rsqrtf(float a) { return float(1.0 / sqrt(double(a))); }
inline double rsqrt(double a) { return 1.0 / sqrt(a); }

inline int __popc(unsigned int a) { return __builtin_popcount(a); }
inline int __popcll(unsigned long long a) { return __builtin_popcountll(a); }
inline int __clz(int a) { return a ? __builtin_clz(unsigned(a)) : 32; }
inline int __clzll(long long a) { return a ? __builtin_clzll((unsigned long long)a) : 64; }
inline int __ffs(int a) { return __builtin_ffs(a); }
inline int __ffsll(long long a) { return __builtin_ffsll(a); }
inline unsigned int __brev(unsigned int a) {
    unsigned int result = 0;
    for (int bit = 0; bit < 32; ++bit) result |= (a >> bit & 1u) << (31 - bit);
    return result;
}
inline int __mul24(int a, int b) { return int((long long)(a << 8 >> 8) * (b << 8 >> 8)); }
inline int __mulhi(int a, int b) { return int((long long)a * b >> 32); }
inline unsigned int __umulhi(unsigned int a, unsigned int b) { return unsigned((unsigned long long)a * b >> 32); }
inline long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
inline void __trap() { tilewright_host::give_up("the function called __trap()"); }

#define TILEWRIGHT_LEAST_AND_GREATEST(type)                          \
    inline type min(type a, type b) { return b < a ? b : a; }        \
    inline type max(type a, type b) { return a < b ? b : a; }
TILEWRIGHT_LEAST_AND_GREATEST(int)
TILEWRIGHT_LEAST_AND_GREATEST(unsigned int)
TILEWRIGHT_LEAST_AND_GREATEST(long)
TILEWRIGHT_LEAST_AND_GREATEST(unsigned long)
TILEWRIGHT_LEAST_AND_GREATEST(long long)
TILEWRIGHT_LEAST_AND_GREATEST(unsigned long long)
#undef TILEWRIGHT_LEAST_AND_GREATEST
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }

namespace tilewright_host {

// Every thread of a launch, warps whole where `whole_warps`; what went wrong, or nothing.
template <typename Kernel> std::string launch(unsigned int blocks, unsigned int threads, bool whole_warps, Kernel kernel) {
    gridDim.x = blocks;
    blockDim.x = threads;
    for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) {
        if (!whole_warps) {
            for (threadIdx.x = 0; threadIdx.x < threads; ++threadIdx.x) kernel();
            continue;
        }
        for (first_thread = 0; first_thread < threads; first_thread += lanes) {
            std::string fault = run_warp([&](int) { kernel(); });
            if (!fault.empty()) return fault;
        }
    }
    return "";
}

template <typename... A, size_t... number>
void passed(void (*kernel)(A...), void *const *tiles, std::index_sequence<number...>) {
    kernel(static_cast<A>(tiles[number])...);
}
// A kernel called with its pointers, as a driver passes them.
template <typename... A> void call_with(void (*kernel)(A...), void *const *tiles) {
    passed(kernel, tiles, std::index_sequence_for<A...>());
}

// `run()` with everything that it may throw made text, in memory of ours that the next call reuses.
template <typename Run> const char *said(Run run) {
    static std::string fault;
    try {
        fault = run();
    } catch (const std::exception &error) {
        fault = error.what();
    }
    return fault.c_str();
}

}  // namespace tilewright_host
