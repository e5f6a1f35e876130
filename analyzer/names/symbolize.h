/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes dumps anew with the names of all their addresses in them, so that they can be analysed
 * where the program's files are not.
 */
#ifndef WCPROF_SYMBOLIZE_H
#define WCPROF_SYMBOLIZE_H

#include <stdio.h>

#include "base/options.h"
#include "read/read.h"
#include "recording/recording.h"
#include "packages.h"
#include "symbols.h"

struct symbolize_counts {
	size_t files;         /* whose names were written */
	size_t addresses;     /* in them */
	size_t missing_files; /* that are not here, nor in the dump */
	size_t other_builds;  /* that are here, but not what was recorded: left out */
};

/* Asks for the names of all addresses of the recording. */
void symbolize_look_up(const struct recording *recording, struct symbols *symbols);

/*
 * Copies the dumps to `to`, one after the other. Behind the first header it puts the names and
 * packages that are known here and not in the dumps. 0, or -errno and `error` filled.
 */
int symbolize_write(FILE *to, const struct recording *recording, struct symbols *symbols,
		    const struct packages *packages, char *const *paths, size_t path_count,
		    struct read_error *error, struct symbolize_counts *counts);

/* A line for the user. */
typedef void symbolize_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* All of --symbolize: what goes wrong, and what was done, is said. 1: files were refused, as their
 * build is another one; -EIO: nothing can be written, or read. */
int symbolize_dumps(struct recording *recording, const struct options *options, symbolize_say *say);

#endif
