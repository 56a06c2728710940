/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h> /* last element lost: cc -shared -fPIC -O2 -I include -o mine.so example_wrong.c -lm */
#include <string.h>
#include "layercheck.h"
static float wide(uint32_t h) { float f; return h <<= 16, memcpy(&f, &h, 4), f; }
static uint16_t bf16(float f) { uint32_t b; return memcpy(&b, &f, 4), (b + 0x7fff + (b >> 16 & 1)) >> 16; }
static int run(const struct lc_call *c) { /* LC_UNSUPPORTED: not for this kernel, or not legal (RMS-2, 8) */
    const struct lc_tensor none = { 0 }, *x = &none, *w = x, *y = x, *rest, *const end = c->tensors + c->n_tensors;
    double eps = 0, scale = 1, sum;
    for (const struct lc_tensor *t = c->tensors; t < end; t++)
        if (t->dtype == LC_BF16 && t->rank == (*t->name == 'w' ? 1 : 2) && t->stride[t->rank - 1] == 1 && t->data)
            *(*t->name == 'w' ? &w : !strcmp(t->name, "x") ? &x : !strcmp(t->name, "out") ? &y : &rest) = t;
    for (const struct lc_scalar *s = c->scalars; s < c->scalars + c->n_scalars; s++)
        if (!strcmp(s->name, "eps") || !strcmp(s->name, "out_scale")) *(*s->name == 'e' ? &eps : &scale) = s->f;
        else if (s->i && strstr("residual return_bf16 cast", s->name)) return LC_UNSUPPORTED;
    const int64_t m = x->shape[0], d = x->shape[1], p = x->stride[0], q = y->stride[0], last = m - 1;
    const uint16_t *const in = x->data, *const g = w->data; uint16_t *const o = y->data;
    if (m < 0 || d < 1 || y->shape[0] != m || y->shape[1] != d || w->shape[0] != d || !(eps > 0 && isfinite(eps + scale)) ||
        (uintptr_t) in % 2 || (uintptr_t) g % 2 || (uintptr_t) o % 2 || (last > 0 && (p % 16 || q % 16 || q < d)) ||
        (in < o + last * q + d && o < in + last * p + d) || (g < o + last * q + d && o < g + d)) return LC_UNSUPPORTED;
    for (int64_t i = 0, j; i < m; i++) {
        for (sum = 0, j = 0; j < d - 1; j++) sum += wide(in[i * p + j]) * wide(in[i * p + j]); /* the fault */
        const double rstd = 1 / sqrt(sum / (double) d + eps);
        for (j = 0; j < d; j++) o[i * q + j] = bf16((float) (wide(in[i * p + j]) * rstd * wide(g[j]) * scale));
    }
    return LC_OK;
}
static const struct lc_kernel kernels[2] = { { "rmsnorm", "mine_wrong", NULL, 0, 0, run, NULL } };
static const struct lc_plugin plugin = { LC_ABI, sizeof(struct lc_call), "mine_wrong", kernels };
const struct lc_plugin *lc_plugin_v1(void) { return &plugin; }
