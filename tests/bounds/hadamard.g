# SPDX-License-Identifier: Apache-2.0
# |y - v| <= k u |scale| sum|x|, u = 2^-24, for every order of HAD-3 that is a tree of depth log2 n; v is the exact one. The test
# writes the descriptor's k and log2 n into the goal, for each log2 n from 1 to 15: k is proven, half of it is not.
#
# A term +-scale x[j] of y[i] passes at most log2 n f32 additions and the product with scale (before or behind them), each
# times 1 + d, |d| <= u. So y[i] = sum of +-scale x[j] (1 + t[j]), with 1 + t[j] one product of that many factors, and
#     |y - v| <= |scale| sum|x[j]| max|t[j]|.
# The goal is max|t|. An f32 sum that underflows is exact; the product may lose 2^-150, which ref/hadamard.c adds.

p1 = (1 + scaled) * (1 + d1);
p2 = p1 * (1 + d2);
p3 = p2 * (1 + d3);
p4 = p3 * (1 + d4);
p5 = p4 * (1 + d5);
p6 = p5 * (1 + d6);
p7 = p6 * (1 + d7);
p8 = p7 * (1 + d8);
p9 = p8 * (1 + d9);
p10 = p9 * (1 + d10);
p11 = p10 * (1 + d11);
p12 = p11 * (1 + d12);
p13 = p12 * (1 + d13);
p14 = p13 * (1 + d14);
p15 = p14 * (1 + d15);

{
    |scaled| <= 1b-24 /\ |d1| <= 1b-24 /\ |d2| <= 1b-24 /\ |d3| <= 1b-24 /\ |d4| <= 1b-24 /\ |d5| <= 1b-24 /\
    |d6| <= 1b-24 /\ |d7| <= 1b-24 /\ |d8| <= 1b-24 /\ |d9| <= 1b-24 /\ |d10| <= 1b-24 /\ |d11| <= 1b-24 /\
    |d12| <= 1b-24 /\ |d13| <= 1b-24 /\ |d14| <= 1b-24 /\ |d15| <= 1b-24
    -> |p@STAGES@ - 1| <= @TWICE_K@b-25
}
