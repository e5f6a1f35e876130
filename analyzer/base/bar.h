/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bar of text: how much of a whole, and how much more it may be.
 *
 * Blocks in eighths of a column where the locale has UTF-8, else # and -.
 */
#ifndef WCPROF_BAR_H
#define WCPROF_BAR_H

enum { BAR_COLUMNS = 12, BAR_BYTES = 3 * BAR_COLUMNS + 1 };

/* Parts of the whole, 0..1; what is outside counts as 0 or 1, and `most` at least as `least`. The
 * bar is solid up to `least`, and shaded from there to `most`. */
void bar_draw(char bar[BAR_BYTES], double least, double most);

#endif
