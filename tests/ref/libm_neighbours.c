/* SPDX-License-Identifier: Apache-2.0 */
/* A library to preload: sin, cos, pow, exp and log give the neighbour of what libm gives, below (LIBM_STEP=-1), above (1), or
 * LIBM_STEP doubles away. No table and no golden may change by it. How often each was called goes to the file LIBM_CALLS. */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

double sin(double x);
double cos(double x);
double pow(double x, double y);
double exp(double x);
double log(double x);

static unsigned long calls;

static void report(void)
{
    const char *const path = getenv("LIBM_CALLS");
    FILE *const f = path && calls ? fopen(path, "a") : NULL;
    if (f) {
        fprintf(f, "%lu\n", calls);
        fclose(f);
    }
}

static int step(void)
{
    static int n, read;
    if (!read) {
        const char *const text = getenv("LIBM_STEP");
        n = text ? atoi(text) : 0;
        read = 1;
        atexit(report);
    }
    calls++;
    return n;
}

static double moved(double v)
{
    int n = step();
    if (abs(n) > 16)
        return v * (1 + ldexp(n, -52));
    for (; n > 0; n--)
        v = nextafter(v, HUGE_VAL);
    for (; n < 0; n++)
        v = nextafter(v, -HUGE_VAL);
    return v;
}

/* The library's own, behind this one. */
static void *next(const char *name)
{
    void *const f = dlsym(RTLD_NEXT, name);
    if (!f)
        abort();
    return f;
}

#define ONE(name)                                                                                                                \
    double name(double x)                                                                                                        \
    {                                                                                                                            \
        static double (*real)(double);                                                                                           \
        if (!real)                                                                                                               \
            *(void **) &real = next(#name);                                                                                      \
        return moved(real(x));                                                                                                   \
    }
ONE(sin)
ONE(cos)
ONE(exp)
ONE(log)

double pow(double x, double y)
{
    static double (*real)(double, double);
    if (!real)
        *(void **) &real = next("pow");
    return moved(real(x, y));
}
