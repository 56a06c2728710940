# SPDX-License-Identifier: Apache-2.0
# |y - v| <= k (1 + 2^-20) u (|a c| + |b s|), u = 2^-24 (APPLY-1), v = a c - b s exactly. The test writes the descriptor's k into
# the goal: k is proven, half of it is not.
#
# Each product is rounded, times 1 + d1 and 1 + d2, and so is the sum, 1 + d3; with FMA d1 or d2 is 0. So
#     y = a c (1 + d1) (1 + d3) - b s (1 + d2) (1 + d3),
#     |y - v| <= (|a c| + |b s|) max|(1 + d) (1 + d3) - 1|,
# and that factor is the goal. What underflow adds, 2^-149, stands in ref/rope.c.

factor = (1 + d) * (1 + d3);
share = (factor - 1) / 1048577b-44; # in units of (1 + 2^-20) u

{
    |d| <= 1b-24 /\ |d3| <= 1b-24
    -> |share| <= @K@
}
