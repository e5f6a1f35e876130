/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of emit share this: the table that is kept until its end, and its layout.
 */
#ifndef WCPROF_EMIT_PARTS_H
#define WCPROF_EMIT_PARTS_H

#include "emit.h"

struct emit_cell {
	char *text; /* printable */
	size_t columns;
};

/* Text: prints the table that was kept, with lines no longer than the emit's. May cut the texts of
 * its cells. */
void emit_layout(struct emit *emit);

#endif
