# SPDX-License-Identifier: Apache-2.0
# rope.g where the table is BF16: products of two BF16 are f32 numbers, d = 0, and the sum alone is rounded.

factor = 1 + d3;
share = (factor - 1) / 1048577b-44; # in units of (1 + 2^-20) u

{
    |d3| <= 1b-24
    -> |share| <= @K@
}
