/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One question to many dumps: each is analysed by a process of its own, and its answer is a row.
 *
 * Rows are lines of JSON whose columns are those of wc_answer in rows.def, in the order in which
 * they are had. A dump that cannot be read, or whose process ends early, is a row as well. A file
 * of rows goes on where it ended: dumps that have a row in it, for the same question, are skipped.
 * The rows of a dump are written at once. One thread.
 */
#ifndef WCPROF_EACH_H
#define WCPROF_EACH_H

#include "report/eachwindow.h"

struct each_counts {
	size_t asked;
	size_t failed;  /* of those: the row is an error */
	size_t skipped; /* as they have a row already */
};

/* 0, or -errno with a line in `error`: there is no output. The first word of the options is the
 * question. */
int each_ask(const struct options *options, struct each_counts *counts,
	     char error[EACH_WINDOW_ERROR_BYTES]);

#endif
