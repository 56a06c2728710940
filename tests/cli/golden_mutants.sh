#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sh golden_mutants.sh BUILD_DIR
# The goldens see through the reference: with one rule of ref/ broken, `golden check` fails, every time. Each line of
# the table is a sed expression that must change its file; what is left compiles and links like the true one.
set -u
build=$(cd "$1" && pwd) || exit 3
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d) || exit 3
trap 'rm -rf "$work"' EXIT
cc=${CC:-cc}
libs=$(pkg-config --libs hdf5 jansson libcrypto) || exit 3
sanitize=
nm "$build/libref.a" 2>/dev/null | grep -q __asan_ && sanitize=-fsanitize=address,undefined
done=0 bad=0

# link NAME [OBJECT]: the program, with this object in place of one of libref.a
link() {
    # shellcheck disable=SC2086
    (cd "$build" && $cc $sanitize -o "$work/$1" layercheck.p/harness_main.c.o ${2:+"$2"} libharness.a libref.a $libs -ldl -lm) >"$work/log" 2>&1
}

if ! link true || ! LAYERCHECK_HOME=$root "$work/true" golden check >"$work/out" 2>&1; then
    echo "FAILED  the unchanged program does not link, or does not pass golden check"
    cat "$work/log" "$work/out"
    exit 1
fi

# mutant FILE WHAT EXPRESSION
mutant() {
    done=$((done + 1))
    sed -e "$3" "$root/ref/$1" >"$work/$1"
    if cmp -s "$root/ref/$1" "$work/$1"; then
        echo "FAILED  $2: the expression changes nothing in ref/$1: $3"
        bad=$((bad + 1))
        return
    fi
    # shellcheck disable=SC2086
    if ! $cc $sanitize -std=c99 -O1 -w -D_POSIX_C_SOURCE=200809L -ffp-contract=off -I "$root/include" -I "$root/ref" -c \
        -o "$work/mutant.o" "$work/$1" >"$work/log" 2>&1 || ! link mutant "$work/mutant.o"; then
        echo "FAILED  $2: does not compile"
        cat "$work/log"
        bad=$((bad + 1))
        return
    fi
    got=0 op=${1%%[._]*} # the operator's own goldens see most of its rules; all of them see the rest
    [ -e "$root/golden/${1%.c}.h5" ] && op=${1%.c}
    if [ -e "$root/golden/$op.h5" ]; then
        LAYERCHECK_HOME=$root "$work/mutant" golden check "$op" >"$work/out" 2>&1
        got=$?
    fi
    if [ $got -eq 0 ]; then
        LAYERCHECK_HOME=$root "$work/mutant" golden check >"$work/out" 2>&1
        got=$?
    fi
    # 3: with this rule broken, some case of the file is no legal case, or has tensors of other shapes (YARN-5)
    if [ $got -eq 1 ] || { [ $got -eq 3 ] && grep -qE 'contract refuses|pruning:|as the case has them' "$work/out"; }; then
        echo "killed  $2: $(grep -c '^FAIL' "$work/out") cases"
    else
        echo "FAILED  $2: exit code $got, not 1"
        tail -n 3 "$work/out"
        bad=$((bad + 1))
    fi
}

mutant rmsnorm.c 'RMS-1 x + residual is not rounded' 's/: rn_bf16(sum);/: sum;/'
mutant rmsnorm.c 'RMS-13 hf: n is not rounded' 's/n_bf = iv_round(LC_BF16, \(.*\));/n_bf = \1;/'
mutant rmsnorm.c 'RMS-13 f32res is the usual one' 's/a->dialect == RMS_F32RES ? rn_f32(sum)/false ? rn_f32(sum)/'
mutant rmsnorm.c 'RMS-13 gemma: 1 + w in BF16' 's/rn_f32(1 + w)/rn_bf16(1 + w)/'
mutant rmsnorm.c 'RMS-6 f32cast is the usual one' 's/if (a->dialect == RMS_F32CAST)/if (false)/'
mutant cast.c 'CAST-2 E2M1 has the clamp of E4M3' 's/ldexp(6, -126)/rn_f32(1e-4)/'
mutant cast.c 'CAST-3 E2M1 ends at 4' 's/? 6 : 448/? 4 : 448/'
mutant cast.c 'CAST-9 deepgemm: ties to even' 's/nextafter(v, 0)) + 0.0/v) + 0.0/'
mutant cast.c 'CAST-9 deepgemm: a signed zero' 's/nextafter(v, 0)) + 0.0/nextafter(v, 0))/'
mutant cast.c 'CAST-9 deepgemm: the usual factor' 's/return rn_f32_div(1, sf_of(s, amax));/return rn_f32_div(code_max(s), amax);/'
mutant cast.c 'CAST-9 sf-floor: no floor' 's/== CAST_SF_FLOOR ? rn_f32(1e-4) : 0/== CAST_SF_FLOOR ? 1e-30 : 0/'
mutant sf.c 'SF-6 rows are d_s bytes apart' 's/row \* sf_words(s) \* 4 + g/row * s->groups + g/'
mutant cast.c 'SF-6 groups that are not there have a scale' 's/iv_pt(ldexp(1, -127))/iv_pt(ldexp(1, -22))/'
mutant num.c 'FMT-4 ties' 's/at_most(magnitude(v, 1, 0), 7)/at_most(magnitude(v * (1 + 0x1p-50), 1, 0), 7)/'
mutant rmsnorm.c 'RMS-2 residual_out is x' 's/^        r\[i\] = iv_pt(v);/        r[i] = iv_pt(load(a->t[RMS_X], x + i));/'
mutant rmsnorm.c 'RMS-3 the mean is not rounded' 's/acc_mean_f32(&squares, d)/acc_double(\&squares) \/ (double) d/'
mutant rmsnorm.c 'RMS-3 BF16 squares' 's/acc_add(&squares, r\[i\].v \* r\[i\].v)/acc_add(\&squares, rn_bf16(r[i].v * r[i].v))/'
mutant rmsnorm.c 'RMS-3 the last element is left out' 's/if (isfinite(r\[i\].v))/if (isfinite(r[i].v) \&\& i + 1 < d)/'
mutant rmsnorm.c 'RMS-4 s + eps is not rounded' 's/rn_f32_rsqrt(rn_f32(s + eps))/rn_f32_rsqrt(s + eps)/'
mutant rmsnorm.c 'RMS-4 eps outside the root' 's/rn_f32_rsqrt(rn_f32(s + eps))/rn_f32(1 \/ (sqrt(s) + eps))/'
mutant rmsnorm.c 'RMS-4 the root is not rounded' 's/rn_f32_rsqrt(rn_f32(s + eps))/1 \/ sqrt(rn_f32(s + eps))/'
mutant rmsnorm.c 'RMS-4 the root is rounded before 1/root' 's/rn_f32_rsqrt(rn_f32(s + eps))/rn_f32(1 \/ rn_f32(sqrt(rn_f32(s + eps))))/'
mutant rmsnorm.c 'RMS-5 out_scale is left out' 's/\* w) \* scale;/* w);/'
mutant rmsnorm.c 'RMS-5 BF16 before the weight' 's/((r \* row.rstd) \* w)/(rn_bf16(r * row.rstd) * w)/'
mutant rmsnorm.c 'RMS-5 half of the bound' 's/ldexp(REF_RMSNORM_K, -24)/ldexp(REF_RMSNORM_K, -25)/'
mutant rmsnorm.c 'RMS-6 the cast reads y, not y_bf' 's/y_bf\[i\] = iv_round(LC_BF16, \(pick(.*)\));/y_bf[i] = \1;/'
mutant rmsnorm.c 'RMS-7 bf16 of v, not of out' 's/= iv_round(LC_BF16, iv_round(f, returned));/= y[i];/'
mutant rmsnorm.c 'RMS-12 a row with Inf is judged' 's/{ NAN, 0, !has_inf }/{ NAN, 0, true }/'
mutant cast.c 'CAST-1 the last element is left out' 's/amax = iv_max(amax, iv_abs(x\[i\]))/amax = i + 1 < end ? iv_max(amax, iv_abs(x[i])) : amax/'
mutant cast.c 'CAST-2 the clamp is 1e-30' 's/rn_f32(1e-4)/rn_f32(1e-30)/'
mutant cast.c 'CAST-3 times a rounded reciprocal' 's/rn_f32_div(amax, code_max(s));/rn_f32(amax * rn_f32_div(1, code_max(s)));/'
mutant cast.c 'CAST-3 E4M3 ends at 224' 's/? 6 : 448/? 6 : 224/'
mutant cast.c 'CAST-4 floor, not ceil' 's/ceil_log2(fmax(amax/ilogb(fmax(amax/'
mutant cast.c 'CAST-5 the product is not rounded' 's/iv_round(LC_F32, \(times_factor(.*)\));/\1;/'
mutant cast.c 'CAST-5 448 / amax is not rounded' 's/rn_f32_div(code_max(s), amax)/code_max(s) \/ amax/'
mutant cast.c 'CAST-7 an Inf has a code' 's/q_free\[i\] = !iv_is_nan(x\[i\]) || s->e2m1;/q_free[i] = 0;/'
mutant hadamard.c 'HAD-1 the last stage is left out' 's/bit < n; bit \*= 2/bit < n \/ 2; bit *= 2/'
mutant hadamard.c 'HAD-1 a sign' 's/x\[i | bit\] = a - b/x[i | bit] = b - a/'
mutant hadamard.c 'HAD-1 the last element is left out' 's/acc_add(&one, x);/acc_add(\&one, i + 1 < a->n ? x : 0);/'
mutant hadamard.c 'HAD-2 the default scale is 1' 's/rn_f32_rsqrt((double) a.n)/1/'
mutant hadamard.c 'HAD-2 the default scale is BF16' 's/rn_f32_rsqrt((double) a.n)/rn_bf16(rn_f32_rsqrt((double) a.n))/'
mutant hadamard.c 'HAD-3 half of the bound' 's/ldexp(k \*/ldexp(k \/ 2 */'
mutant hadamard.c 'HAD-3 of |y|, not of sum|x|' 's/\* x->magnitude, -24/* fabs(sum), -24/'
mutant hadamard.c 'HAD-3 no underflow quantum' 's/ + ldexp(1, -150)//'
mutant hadamard.c 'HAD-5 never exact' 's/v.exact = .*;/v.exact = false;/'
mutant hadamard.c 'HAD-5 exact up to 2^23 g only' 's/ldexp(g, 24)/ldexp(g, 23)/'
mutant hadamard.c 'HAD-5 exact up to 2^26 g' 's/ldexp(g, 24)/ldexp(g, 26)/'
mutant hadamard.c 'HAD-5 the product is not rounded' 's/f32 = rn_f32(v);/f32 = v;/'
mutant hadamard.c 'HAD-6 NaN only' 's/iv_not_finite()/iv_pt(NAN)/'
mutant hadamard.c 'every vector is judged' 's/x.magnitude < ldexp(1, 127)/true/'
mutant rope.c 'APPLY-1 neox pairs are neighbours' 's/how->interleaved ? 2 \* i : i,/how->interleaved ? i : 2 * i,/; s/2 \* i + 1 : how->pairs + i/how->pairs + i : 2 * i + 1/'
mutant rope.c 'APPLY-1 a sign' 's/rotated(a, c, b, -s, k/rotated(a, c, b, s, k/'
mutant rope.c 'APPLY-1 half of the bound' 's/ldexp(k \* (1/ldexp(k \/ 2 * (1/'
mutant rope.c 'APPLY-1 exact products with an F32 table' 's/how->exact_products ? REF_ROPE_EXACT_K : REF_ROPE_K/REF_ROPE_EXACT_K/'
mutant rope.c 'APPLY-1 of |y|, not of |a c| + |b s|' 's/\* size, -24)/* fabs(y.v), -24)/'
mutant rope.c 'APPLY-1 no underflow quantum' 's/ + ldexp(1, -149));/);/'
mutant rope.c 'APPLY-1 large products are judged' 's/if (size >= ldexp(1, 127))/if (false)/'
mutant rope.c 'FMT-6 zeros are free' 's/if (size == 0)/if (false)/'
mutant rope.c 'APPLY-2 conjugate is ignored' 's/how->conjugate ? -sin\[i\] : sin\[i\]/sin[i]/'
mutant rope.c 'APPLY-3 the offset is ignored' 's/head + a->offset, open)/head, open)/'
mutant rope.c 'APPLY-3 what is copied' 's/from = i < a->offset ? i : i + n/from = i/'
mutant rope.c 'APPLY-3 NaN payloads are not copied' 's/copied\[h \* rest + i\] = iv_pt(bits(in, token, h, from))/copied[h * rest + i] = iv_pt(fmt_code(LC_BF16, fmt_load(LC_BF16, bits(in, token, h, from))))/'
mutant rope.c 'APPLY-4 positions are ignored' 's/return t->dtype == LC_I64 ? .*$/return token;/'
mutant rope.c 'APPLY-4 int64 read as int32' 's/((const int64_t \*) t->data)\[token\]/((const int32_t *) t->data)[token]/'
mutant rope.c 'ROT-4 rows are half as far apart' 's/at = position \* a->rotary_dim + i/at = position * a->rotary_dim \/ 2 + i/'
mutant context_cast.c 'KV-7 the rotation for its inverse' 's/r->interleaved, true, /r->interleaved, false, /'
mutant context_cast.c 'KV-7 no rounding between' 's/x\[i\] = iv_round(LC_BF16, \(pick(.*)\));/x[i] = iv_round(LC_F32, \1);/'
mutant context_cast.c 'KV-7 f32 is the usual one' 's/if (a->f32)/if (false)/'
mutant context_cast.c 'KV-7 the leading part' 's/head + r->offset, open/head, open/'
mutant context_cast.c 'APPLY-1 large products are cast' 's/y\[i\] = iv_pt(INFINITY);/;/'
mutant qkv.c 'QKV-1 v begins a head early' 's/x\[q_cols + kv_cols + i\]/x[q_cols + kv_cols - d + i]/'
mutant qkv.c 'QKV-1 v through a value' 's/iv_pt((double) x\[q_cols + kv_cols + i\])/iv_pt((double) fmt_code(LC_BF16, fmt_load(LC_BF16, x[q_cols + kv_cols + i])))/'
mutant qkv.c 'QKV-1 k is read from q' 's/norm_head(a, is_k, x + h \* d/norm_head(a, is_k, x + (is_k ? h - a->heads_q : h) * d/'
mutant qkv.c 'QKV-2 w_q for k' 's/is_k ? QKV_W_K : QKV_W_Q/QKV_W_Q/'
mutant qkv.c 'QKV-2 b_q for k' 's/is_k ? QKV_B_K : QKV_B_Q/QKV_B_Q/'
mutant qkv.c 'QKV-2 no bias' 's/: bias ? plus_bias(.*) : p;/: p;/'
mutant qkv.c 'QKV-2 n is not rounded' 's/rounded = a->dialect != QKV_SIMT/rounded = false/'
mutant qkv.c 'QKV-2 the sum has no rounding of its own' 's/return iv_widen(z, ldexp((1 + ldexp(1, -20)) \* fabs(b), -24));/return z;/'
mutant qkv.c 'QKV-2 the bias is rounded to BF16' 's/b = bias ? load(bias, i) : 0/b = bias ? rn_bf16(load(bias, i)) : 0/'
mutant qkv.c 'QKV-3 the whole head rotates' 's/i < a->rope_dim; i++/i < a->head_dim; i++/'
mutant qkv.c 'QKV-3 sine and cosine exchanged' 's/c = load(table, at + i), s = load(table, at + pairs + i)/s = load(table, at + i), c = load(table, at + pairs + i)/'
mutant qkv.c 'QKV-3 pairs (2i, 2i + 1)' 's/how = { .pairs = pairs,/how = { .pairs = pairs, .interleaved = true,/'
mutant qkv.c 'QKV-3 conjugate' 's/how = { .pairs = pairs,/how = { .pairs = pairs, .conjugate = true,/'
mutant qkv.c 'QKV-3 products of an F32 table are exact' 's/rounded && bf16_table/rounded/'
mutant qkv.c 'QKV-3 simt is the usual one' 's/rounded = a->dialect != QKV_SIMT/rounded = true/'
mutant qkv.c 'QKV-3 bf16rot is the usual one' 's/if (a->dialect == QKV_BF16ROT) {/if (false) {/'
mutant qkv.c 'QKV-3 bf16rot: products are not rounded' 's/return iv_round(LC_BF16, \(largest(p) == 0.*\));/return \1;/'
mutant qkv.c 'QKV-4 unfused-bias is the usual one' 's/if (a->dialect == QKV_UNFUSED_BIAS) {/if (false) {/'
mutant qkv.c 'QKV-4 unfused-bias: an F32 sum is exact' 's/return b_bf16 ? z/return true ? z/'
mutant qkv.c 'APPLY-4 position 0' 's/position(a->t\[QKV_POSITIONS\], row) \* a->rope_dim/0 * row/'
mutant qkv.c 'APPLY-4 the token for its position' 's/position(a->t\[QKV_POSITIONS\], row) \* a->rope_dim/row % a->table_rows * a->rope_dim/'
mutant qkv.c 'APPLY-4 int64 positions as int32' 's/t->dtype == LC_I64 ? /false ? /'
mutant qkv.c 'RMS-12 every head is judged' 's/!stat.judged || //'
mutant linear.c 'LIN-1 the last element is left out' 's/k < a->k; k++) { \/\* products/k < a->k - 1; k++) { \/* products/'
mutant linear.c 'LIN-1 half of the bound' 's/ldexp(k \* sum.magnitude, -24)/ldexp(k * sum.magnitude, -25)/'
mutant linear.c 'LIN-1 of |acc|, not of sum|a||b|' 's/ldexp(k \* sum.magnitude, -24)/ldexp(k * fabs(sum.v), -24)/'
mutant linear.c 'LIN-2 out_acc is left out' 's/more\[n_more++\] = c;/(void) c;/'
mutant linear.c 'LIN-2 out_acc behind the rounding' 's/a->dialect != LIN_REDUCE_ADD)/false)/; s/a->dialect == LIN_REDUCE_ADD)/true)/'
mutant linear.c 'LIN-2 reduce-add is the usual one' 's/a->dialect != LIN_REDUCE_ADD)/true)/; s/a->dialect == LIN_REDUCE_ADD)/false)/'
mutant linear.c 'LIN-4 rows of x are dense' 's/from = row \* a->x_stride/from = row * a->k/'
mutant linear.c 'LIN-10 rows of the weight are dense' 's/n \* w->stride\[0\] \* codes/n * a->k/'
mutant linear.c 'LIN-5 x without its scales' 's/from + k) \* scale;/from + k);/'
mutant linear.c 'LIN-5 the weight without its scales' 's/codes + k) \* scale;/codes + k);/'
mutant linear.c 'LIN-5 scales by n / 32' 's/a->n, n, k \/ GROUP/a->n, n \/ 32, k \/ GROUP/'
mutant linear.c 'LIN-5 one scale for 64' 's/a->n, n, k \/ GROUP/a->n, n, k \/ 64 * 2/'
mutant linear.c 'LIN-5 every product is judged' 's/if (exp < -100 || exp > 100)/if (false)/'
mutant linear.c 'LIN-5 the cast does not round' 's/rn(LC_E4M3, q\[k\].v)/q[k].v/'
mutant linear.c 'FMT-4 the even code in the high nibble' 's/4 \* (at % 2)/4 * (1 - at % 2)/'
mutant linear.c 'LIN-8 never exact' 's/const bool exact = sum.low/const bool exact = false \&\& sum.low/'
mutant linear.c 'LIN-8 exact up to 2^23 g only' 's/ldexp(1, 24 + sum.low)/ldexp(1, 23 + sum.low)/'
mutant linear.c 'LIN-8 exact up to 2^26 g' 's/ldexp(1, 24 + sum.low)/ldexp(1, 26 + sum.low)/'
mutant linear.c 'LIN-9 the bias before the rounding' 's/a->dialect == LIN_BIAS_FUSED)/true)/; s/a->dialect != LIN_BIAS_FUSED)/false)/'
mutant linear.c 'LIN-9 bias-fused is the usual one' 's/a->dialect == LIN_BIAS_FUSED)/false)/; s/a->dialect != LIN_BIAS_FUSED)/true)/'
mutant linear.c 'CAST-7 a row with Inf is judged' 's/return has_nan || !has_inf;/return true;/'
mutant linear.c 'every sum is judged' 's/|| (isfinite(sum.v) \&\& overflows)/|| (isfinite(sum.v) \&\& false)/'
mutant linear.c 'LIN-11 an Inf is judged beside any sum' 's/: overflows  /: false  /'
mutant linear.c 'LIN-11 an Inf beside a large sum is not judged' 's/(isfinite(sum.v) \&\& overflows)/overflows/'
mutant linear.c 'LIN-11 an Inf meets another of its sign' 's/ \&\& sum.v != INFINITY//; s/ \&\& sum.v != -INFINITY//'
mutant linear.c 'LIN-11 magnitudes of both signs overflow' 's/side\[t < 0\] += fabs(t)/side[0] += fabs(t), side[1] += fabs(t)/'
mutant linear.c 'LIN-2 K = 0 is a sum, not a copy' 's/if (is_copy(a) \&\& c == 0)/if (false)/'
mutant sf.c 'SF-3 bytes in the other order' 's/+ i) \* 4 + g % 4 /+ i) * 4 + 3 - g % 4 /'
mutant sf.c 'SF-3 rows are not padded' 's/i = row % m, m_pad = align_up(m, 4)/i = row % m, m_pad = m/'
mutant sf.c 'SF-4 P is its own inverse' 's/i % 32 \* 4 + i % 128 \/ 32/i % 4 * 32 + i % 128 \/ 4/'
mutant sf.c 'SF-4 blocks are not aligned' 's/\* align_up(s->block_m, 128) + utccp_row/* s->block_m + utccp_row/'
mutant sf_layout.c 'SF-5 blocks of 16 rows' 's/blocks_of(a->m), row \/ 32, g)/blocks_of(a->m), row \/ 16 < blocks_of(a->m) ? row \/ 16 : blocks_of(a->m) - 1, g)/'
mutant sf_layout.c 'SF-5 the last rows of a ragged N take the block before' 's/blocks_of(a->m), row \/ 32, g)/blocks_of(a->m), a->m < 32 || row \/ 32 < a->m \/ 32 ? row \/ 32 : a->m \/ 32 - 1, g)/'
mutant sf_layout.c 'SF-4 as target is SF-3' 's/return a->to.block_m ? .*/return sf_place(\&a->to, a->m, row, g);/'
mutant sf_layout.c 'SF-4 as source is SF-3' 's/return a->from.block_m ? .*/return sf_place(\&a->from, a->m, row, g);/'
mutant sf_layout.c 'SF-6 the rest of a word is the last scale' 's/: ldexp(1, -127)); \/\*/: scale_at(a, row, a->from.groups - 1)); \/*/'
mutant sf_layout.c 'FMT-3 byte 0 is 2^-126' 's/fmt_load(LC_UE8M0, \*at)/fmt_load(LC_UE8M0, *at ? *at : 1)/'
mutant num.c 'FMT-1 ties away from zero' 's/(rest == half && kept % 2 == 1)/rest == half/'
mutant num.c 'FMT-2 subnormal codes are flushed' 's/at_most(magnitude(v, 3, -6), 0x7e)/(fabs(v) < 0x1p-6 ? 0 : at_most(magnitude(v, 3, -6), 0x7e))/'
mutant num.c 'FMT-2 zeros lose their sign' 's/sign_of(v) << 7 |/(v < 0 ? 0x80u : 0) |/'
mutant num.c 'CAST-4 a power of two steps up' 's/frexp(v, &exp) == 0.5 ? exp - 1 : exp;/frexp(v, \&exp) == 0.5 ? exp : exp;/'
mutant rope_table.c 'ROT-1 the exponent is not rounded' 's/rn_f32_div((double) (2 \* i), (double) a->rotary_dim)/(double) (2 * i) \/ (double) a->rotary_dim/'
mutant rope_table.c 'ROT-1 the power with a minus' 's/return rn_f32_div(1, p); \/\* ROT-1/return rn_f32(pow(a->base, -(double) (2 * i) \/ (double) a->rotary_dim)); \/* ROT-1/'
mutant rope_table.c 'ROT-2 the angle is not rounded' 's/angle = rn_f32_mul(\(rn_f32((double) row)\), inv_freq)/angle = \1 * inv_freq/'
mutant rope_table.c 'ROT-3 cosine and sine exchanged' 's/entry(rn_f32_cos(angle)/entry(rn_f32_sin(angle)/'
mutant rope_table.c 'ROT-7 linear divides p' 's/rn_f32_div(1, rn_f32_mul(a->factor, p)); \/\* ROT-7/rn_f32_div(a->factor, p); \/* ROT-7/'
mutant rope_table.c 'YARN-1 floor for ceil' 's/a->high = ceil(a->high)/a->high = floor(a->high)/'
mutant rope_table.c 'YARN-1 always truncated' 's/    if (truncate) {/    if (true) {/'
mutant rope_table.c 'YARN-1 low = high is taken apart by 1' 's/a->high += 0.001/a->high += 1/'
mutant rope_table.c 'YARN-1 low is not clamped' 's/a->low = a->low > 0 ? a->low : 0;//'
mutant rope_table.c 'YARN-1 high is not clamped' 's/a->high = a->high < d - 1 ? a->high : d - 1;//'
mutant rope_table.c 'YARN-2 the ramp is not clamped' 's/ramp = slope < 0 ? 0 : slope > 1 ? 1 : slope/ramp = slope/'
mutant rope_table.c 'YARN-2 lambda is clamped' 's/return rn_f32_mul(rn_f32_add(1, -ramp), a->extrapolation_factor)/return fmin(1, rn_f32_mul(rn_f32_add(1, -ramp), a->extrapolation_factor))/'
mutant rope_table.c 'YARN-3 the parts are not rounded' 's/rn_f32_add(rn_f32_mul(interpolated, rn_f32_add(1, -l)), rn_f32_mul(extrapolated, l))/rn_f32(interpolated * rn_f32_add(1, -l) + extrapolated * l)/'
mutant rope_table.c 'YARN-4 no ratio' 's/ \/ magnitude(a->factor, all_dim)//'
mutant rope_table.c 'YARN-4 a factor below 1 counts' 's/return s <= 1 ? 1 : /return s == 1 ? 1 : /'
mutant rope_table.c 'YARN-4 attn_factor is left out' 's/magnitude(a->factor, all_dim) \* attn/magnitude(a->factor, all_dim)/'
mutant rope_table.c 'YARN-5 sampled from 0' 's/for (int64_t i = a->first; i < all/for (int64_t i = a->first % a->every; i < all/'
mutant kv_store.c 'KV-1 BF16 between all stages' 's/h->a->bf16_stages && i </true \&\& i </'
mutant kv_store.c 'KV-1 f32 between all stages' 's/h->a->bf16_stages && i </false \&\& i </'
mutant kv_store.c 'KV-1 the offset is ignored' 's/h->y + a->offset;/h->y;/'
mutant kv_store.c 'CAST-7 NaN or Inf is NaN' 's/q\[j\] = iv_pt(INFINITY);/(void) q;/'
mutant kv_store.c 'RMS-4 eps twice' 's/h->y, a->eps)/h->y, 2 * a->eps)/'
mutant kv_store.c 'RMS-12 every head is judged' 's/h->unjudged = !stat.judged;/h->unjudged = false;/'
mutant kv_store.c 'APPLY-2 the inverse turns forwards' 's/a->conjugate ? -sin\[i\] : sin\[i\]/sin[i]/; s/a->interleaved, a->conjugate,/a->interleaved, false,/'
mutant kv_store.c 'APPLY-1 all products are exact' 's/table->dtype == LC_BF16 \&\& (!a->norm || a->bf16_stages) }/true }/'
mutant kv_store.c 'HAD-3 half of the bound' 's/ldexp(k \* fabs/ldexp(k \/ 2 * fabs/'
mutant kv_store.c 'HAD-5 never exact' 's/const bool exact = .*;/const bool exact = false;/'
mutant kv_store.c 'KV-2 all rows are row 0' 's/ + slot % a->page_size \* b->row//'
mutant kv_store.c 'KV-3 all heads are head 0' 's/ + head \* b->head;/;/'
mutant kv_store.c 'KV-5 per head as the matrix' 's/return a->per_head ?/return false ?/'
mutant wide.c 'ROT-3 the quadrant is lost above 2^10' 's/(int) (f.limb\[LIMBS - 1\] & 3)/(int) (f.limb[LIMBS - 1] \& (fabs(x) > 1024 ? 1 : 3))/; s/!is_small(x) && is_settled(y)/0/'
mutant wide.c 'ROT-3 pi of 64 bits' 's/0x52049c11, 0x01b839a2, 0x898cc517, 0x42d18469/0, 0, 0, 0/; s/!is_small(x) && is_settled(y)/0/'

echo "$((done - bad)) of $done mutants of the reference are killed"
echo "$((done - bad)) passed, $bad failed"
[ $bad -eq 0 ] && [ $done -ge 12 ]
