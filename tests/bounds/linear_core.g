# SPDX-License-Identifier: Apache-2.0
# Tensor cores of LIN-1: in a step of 16 products the 17 terms are cut at 2^-25 of the largest and their sum at 2^-23 of itself. With
# sum|a||b| + |out_acc| = 1, no term nor partial sum is beyond 1, but for what was lost before. Four steps, K = 64, lose no more than
# 4 * 10.5u and a second order: 42.25u is proven (the test puts in four times that), half of it is not. So 16 terms cost 10.5u
# where K + 32 allows 16u.
#
# e: what acc is off by; c: what a step's terms lose together; r: what its result loses; m: what sizes have grown by before.

e1 = 0 + c1 * (1 + m1) + r1 * (1 + m1);
e2 = e1 + c2 * (1 + m2) + r2 * (1 + m2);
e3 = e2 + c3 * (1 + m3) + r3 * (1 + m3);
e4 = e3 + c4 * (1 + m4) + r4 * (1 + m4);

{
    |c1| <= 17b-25 /\ |r1| <= 1b-23 /\ |m1| <= 1b-16 /\
    |c2| <= 17b-25 /\ |r2| <= 1b-23 /\ |m2| <= 1b-16 /\
    |c3| <= 17b-25 /\ |r3| <= 1b-23 /\ |m3| <= 1b-16 /\
    |c4| <= 17b-25 /\ |r4| <= 1b-23 /\ |m4| <= 1b-16
    -> |e4| <= @FOUR_K@b-26
}
