/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call stacks as an icicle: a row for each depth, the outermost function at the top. Each function
 * is as wide as its share of the time. One thread.
 */
#ifndef WCPROF_TOP_ICICLE_H
#define WCPROF_TOP_ICICLE_H

#include <stdbool.h>
#include <stddef.h>

struct icicle;

/* NULL: there is no memory. */
struct icicle *icicle_begin(void);
void icicle_end(struct icicle *);

/* A stack: names, the outermost first. `other` is what it took elsewhere, for comparison. */
void icicle_add(struct icicle *, const char *const *names, size_t count, double weight,
		double other);
/* All that was added. */
double icicle_total(const struct icicle *);
/* Writes what stands behind a function's name, instead of its share: both weights. */
typedef void icicle_write(double weight, double other, char *to, size_t size);
void icicle_compare(struct icicle *, icicle_write *);

/* Draws it so many columns wide, and at most so many rows high: how many they are. If it is too
 * deep, functions that do nothing but call another one are left out (".."), and the last rows
 * ("+"). */
size_t icicle_draw(struct icicle *, size_t columns, size_t rows);
/* A row of that: good until icicle_end(). */
const char *icicle_row(const struct icicle *, size_t row);

#endif
