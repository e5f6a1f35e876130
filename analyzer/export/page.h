/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes an analysis as one page of HTML, which needs nothing else and asks nothing of anywhere.
 *
 * The style and the scripts are those of analyzer/page/. Between them stand the data, which are
 * one object. In it are the report, as --json has it, and an object for each section of page.def
 * that has data of its own. A section's function puts the members of that. Names in the data may
 * be anything: they are escaped here, and scripts take them as text alone.
 *
 * One thread. The analysis is only read.
 */
#ifndef WCPROF_PAGE_H
#define WCPROF_PAGE_H

#include <stdio.h>

#include "base/emit.h"
#include "report/analysis.h"

#define SECTION(name, title)
#define DATA_SECTION(name, title) \
	void page_##name(const struct analysis *analysis, struct emit *emit);
#include "page.def"

/* False: there is no memory for it. Errors of the file are the file's. */
bool page_write(FILE *file, const struct analysis *analysis);

#endif
