/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes an analysis in a format that other programs read: a row of exporters.def.
 *
 * An exporter is a function of a file of its own. It writes to the files that it gets from
 * outputs.h, and neither closes them nor looks for errors. One thread.
 */
#ifndef WCPROF_EXPORTERS_H
#define WCPROF_EXPORTERS_H

#include "outputs.h"
#include "report/analysis.h"

/* Before anything is read: 0, or -EINVAL with a line in `error`: no such format, no place to put
 * it, one of another shape. */
int exporters_check(const struct options *, char error[EXPORT_ERROR_BYTES]);

/* Of options that were checked: analysis_build() is needed, else analysis_measure() will do. */
bool exporters_need_answers(const struct options *);

/* Writes options->export to options->output. 0 with lines in `said` of what was written and how to
 * open it; or -EIO with a line in `error`. */
int exporters_write(const struct analysis *, char said[EXPORT_SAID_BYTES],
		    char error[EXPORT_ERROR_BYTES]);

#define EXPORTER(name, word, shape, hint) void export_##name(struct export *);
#include "exporters.def"

#endif
