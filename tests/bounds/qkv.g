# SPDX-License-Identifier: Apache-2.0
# |z - v| <= k u |x rstd w| + (1 + 2^-20) u |bias|, u = 2^-24, for every z = x rstd w + bias that RMS-3, RMS-4 and QKV-2 admit
# before n is rounded to BF16; v is the nominal one. The test writes the descriptor's k into the goal: k is proven, k/2 is not.
#
# With P = x rstd0 w, rstd0 nominal, and B the bias; rmsnorm.g says what the other letters mean:
#   admissible:  z = (P (1 + e)(1 + d1)(1 + d2) + B)(1 + da)    1 + e = rstd / rstd0, the products, their sum: |di|, |da| <= u
#   nominal:     v = (P (1 + n1)(1 + n2) + B)(1 + na)           |ni|, |na| <= 2^-53
# so that z - v = P f + B g, f and g as below; an FMA leaves out one of the factors. Not here: RMS-3's d 2^-149 and products below
# 2^-126, which ref_rms_y adds to the radius; its k stands for a third product, which the sum takes the place of here.

admissible = ((1 + dr) / sqrt((1 + ds) * (1 + dt))) * ((1 + d1) * (1 + d2));
nominal = ((1 + nr) / sqrt((1 + ns) * (1 + nt))) * ((1 + n1) * (1 + n2));
ratio = admissible * (1 + da) / (nominal * (1 + na));
g = da - na;

{
    |ds| <= 1b-20 /\ |dt| <= 1b-24 /\ |dr| <= 1b-22 /\ |d1| <= 1b-24 /\ |d2| <= 1b-24 /\ |da| <= 1b-24 /\
    |ns| <= 1b-24 /\ |nt| <= 1b-24 /\ |nr| <= 1b-24 /\ |n1| <= 1b-53 /\ |n2| <= 1b-53 /\ |na| <= 1b-53
    -> |ratio - 1| <= @K@b-24 /\ |g| <= 1048577b-44
}
