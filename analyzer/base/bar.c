/* SPDX-License-Identifier: Apache-2.0 */
/* Columns from the left: full ones, one in eighths, then shaded ones; bar.h has the contract. */
#include "bar.h"

#include <langinfo.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { EIGHTHS = 8 };

static const char *const blocks[EIGHTHS + 1] = { "",       "\u258f", "\u258e", "\u258d", "\u258c",
						 "\u258b", "\u258a", "\u2589", "\u2588" };

static int columns_of(double part, int steps)
{
	double inside = part > 0 ? fmin(part, 1) : 0;
	return (int)lround(inside * BAR_COLUMNS * steps);
}

void bar_draw(char bar[BAR_BYTES], double least, double most)
{
	bool has_blocks = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	int solid = columns_of(least, has_blocks ? EIGHTHS : 1);
	int full = has_blocks ? solid / EIGHTHS : solid;
	int shown = full;
	bar[0] = '\0';
	for (int i = 0; i < full; i++)
		strcat(bar, has_blocks ? blocks[EIGHTHS] : "#");
	if (has_blocks && solid % EIGHTHS) {
		strcat(bar, blocks[solid % EIGHTHS]);
		shown++;
	}
	for (int end = columns_of(most, 1); shown < end; shown++)
		strcat(bar, has_blocks ? "\u2591" : "-");
}
