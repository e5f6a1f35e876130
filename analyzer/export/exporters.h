/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes an analysis in a format that other programs read: a row of exporters.def.
 *
 * An exporter is a function of a file of its own. It writes to the files that it gets here, and
 * neither closes them nor looks for errors: that is done here. One thread.
 */
#ifndef WCPROF_EXPORTERS_H
#define WCPROF_EXPORTERS_H

#include <stdio.h>

#include "report/analysis.h"

enum {
	EXPORT_NAME_BYTES = 64,
	EXPORT_NOTE_BYTES = 256,
	EXPORT_ERROR_BYTES = 512,
	EXPORT_SAID_BYTES = 1024
};

struct export
{
	const struct analysis *analysis;
	const char *path; /* of the file or folder */
	char note[EXPORT_NOTE_BYTES];
	char *error; /* EXPORT_ERROR_BYTES, "" = none so far */
	FILE *file;  /* open now, NULL = none */
	char name[EXPORT_NAME_BYTES];
};

/* The file of a row of shape FILE. */
FILE *export_file(struct export *);
/* A new file of this name in the folder; the last one is done. NULL: an error is noted, and the
 * exporter returns. */
FILE *export_file_in(struct export *, const char *name);
/* A line for the user, told after the export, as of slices that were left out. */
void export_note(struct export *, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Before anything is read: 0, or -EINVAL with a line in `error`: no such format, no place to put
 * it, one of another shape. */
int exporters_check(const struct options *, char error[EXPORT_ERROR_BYTES]);

/* Writes options->export to options->output. 0 with lines in `said` of what was written and how to
 * open it; or -EIO with a line in `error`. */
int exporters_write(const struct analysis *, char said[EXPORT_SAID_BYTES],
		    char error[EXPORT_ERROR_BYTES]);

#define EXPORTER(name, word, shape, hint) void export_##name(struct export *);
#include "exporters.def"

#endif
