/* What the functions of libm do in this program: errno, and a hash of many results. With -DWITHOUT_FACTZ the
 * program does not link factz, and must print the same. Compiled with -fno-builtin, so that each is called.
 */
#include <errno.h>
#include <fenv.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#ifndef WITHOUT_FACTZ
#include <factz.h>
#endif

static uint64_t state = 1;

static double next(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)state * 1e-10;
}

static void add(uint64_t* hash, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    *hash = (*hash ^ bits) * 0x100000001b3u;
}

static void results(const char* rounding) {
    enum { FUNCTIONS = 13 };
    static const char* const names[FUNCTIONS] = {"sqrt", "cbrt", "fma", "fmod", "round", "floor", "ceil",
        "rint", "exp", "cbrtf", "sqrtf", "fmodf", "fmaf"};
    uint64_t hash[FUNCTIONS] = {0};
    for (int k = 0; k < 100000; k++) {
        const double x = next(), y = next() * 1e-3, z = -x * y * (1 + 1e-16 * (k % 16));
        const double found[FUNCTIONS] = {sqrt(fabs(x)), cbrt(x), fma(x, y, z), fmod(x, y), round(y), floor(y),
            ceil(y), rint(y), exp(y * 1e-6), cbrtf((float)x), sqrtf((float)fabs(x)),
            fmodf((float)x, (float)y), fmaf((float)x, (float)y, (float)z)};
        for (int f = 0; f < FUNCTIONS; f++) add(&hash[f], found[f]);
    }
    for (int f = 0; f < FUNCTIONS; f++)
        printf("%s %s %016llx\n", rounding, names[f], (unsigned long long)hash[f]);
}

int main(int argc, char** argv) {
    (void)argv;
    const double zero = argc - 1;
#ifndef WITHOUT_FACTZ
    if (factz_relative_bound(0.5, zero, 2) != 1) return 1;
#endif
    int failed = 0;
    errno = 0;
    if (!isnan(sqrt(zero - 1)) || errno != EDOM) failed = printf("sqrt(-1) leaves errno at %d\n", errno);
    errno = 0;
    if (!isnan(fmod(1, zero)) || errno != EDOM) failed = printf("fmod(1, 0) leaves errno at %d\n", errno);
    results("nearest");
    fesetround(FE_UPWARD);
    results("upward");
    fesetround(FE_TONEAREST);
    puts(failed ? "libm is not that of the system" : "everything holds");
    return failed != 0;
}
