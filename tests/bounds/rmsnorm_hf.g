# SPDX-License-Identifier: Apache-2.0
# |n - n0| <= k u |n0|, u = 2^-24, for every n = r * rstd that RMS-3, RMS-4 and one f32 product admit; n0 is the nominal one. It
# is what dialect hf rounds to BF16 before the weight (RMS-13). rmsnorm.g says what the letters mean, and what is not here.

admissible = ((1 + dr) / sqrt((1 + ds) * (1 + dt))) * (1 + d1);
nominal = ((1 + nr) / sqrt((1 + ns) * (1 + nt))) * (1 + n1);

{
    |ds| <= 1b-20 /\ |dt| <= 1b-24 /\ |dr| <= 1b-22 /\ |d1| <= 1b-24 /\
    |ns| <= 1b-24 /\ |nt| <= 1b-24 /\ |nr| <= 1b-24 /\ |n1| <= 1b-53
    -> |admissible / nominal - 1| <= @K@b-24
}
