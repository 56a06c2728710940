/* SPDX-License-Identifier: Apache-2.0 */
int kv_placeholder(void);
