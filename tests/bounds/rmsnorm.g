# SPDX-License-Identifier: Apache-2.0
# |y - v| <= k u |v|, u = 2^-24, for every y that RMS-3..5 admit; v is the nominal one. The test writes the
# descriptor's k into the goal: k is proven, k/2 is not.
#
# S is the exact mean square; every step is written as what it should be, times 1 + its relative error.
#
#   admissible:  s + eps  = (S + eps)(1 + ds)       |ds| <= 2^-20  RMS-3
#                t        = (s + eps)(1 + dt)       |dt| <= u      RMS-4, fl(s + eps)
#                rstd     = (1 + dr) / sqrt(t)      |dr| <= 2^-22  RMS-4
#                y        = r rstd w scale (1 + d1)(1 + d2)(1 + d3)    |di| <= u      RMS-5, f32
#   nominal:     s0 + eps = (S + eps)(1 + ns)       |ns| <= u      S rounded to f32
#                t0       = (s0 + eps)(1 + nt)      |nt| <= u
#                rstd0    = (1 + nr) / sqrt(t0)     |nr| <= u
#                v        = r rstd0 w scale (1 + n1)(1 + n2)(1 + n3)   |ni| <= 2^-53  RMS-5, binary64
#
# |s - S| <= 2^-20 (S + eps) is RMS-3 as it stands: s + eps and S + eps differ by as much. Likewise |s0 - S| <= u S,
# which is at most u (S + eps). r, w, out_scale and S + eps cancel in y / v, and products commute with the factors
# 1 + d, so that the order of RMS-5 does not matter. Not here: RMS-3's d 2^-149, and products that fall below
# 2^-126; ref/rmsnorm.c adds both to the radius.

admissible = ((1 + dr) / sqrt((1 + ds) * (1 + dt))) * (((1 + d1) * (1 + d2)) * (1 + d3));
nominal = ((1 + nr) / sqrt((1 + ns) * (1 + nt))) * (((1 + n1) * (1 + n2)) * (1 + n3));

{
    |ds| <= 1b-20 /\ |dt| <= 1b-24 /\ |dr| <= 1b-22 /\ |d1| <= 1b-24 /\ |d2| <= 1b-24 /\ |d3| <= 1b-24 /\
    |ns| <= 1b-24 /\ |nt| <= 1b-24 /\ |nr| <= 1b-24 /\ |n1| <= 1b-53 /\ |n2| <= 1b-53 /\ |n3| <= 1b-53
    -> |admissible / nominal - 1| <= @K@b-24
}
