/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that an exporter writes: made, closed and looked at for errors here.
 *
 * One at a time. The first error counts. One thread.
 */
#ifndef WCPROF_OUTPUTS_H
#define WCPROF_OUTPUTS_H

#include <stdio.h>

struct analysis;

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

/* For exporters.c: makes a file, ends the one that is open. */
FILE *export_open(struct export *, const char *path);
void export_fail_to_open(struct export *); /* errno says why */
void export_close(struct export *);

#endif
