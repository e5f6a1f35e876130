/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One side of a comparison: which recordings it has, of which files each, and how one is analyzed.
 *
 * A side is a file, which is one recording, or a directory. In that each file is a recording, and
 * each directory one of all its files: a server's dump and that of its clients. Names that begin
 * with a dot do not count. One thread.
 */
#ifndef WCPROF_SIDES_H
#define WCPROF_SIDES_H

#include "read/read.h"
#include "report/analysis.h"

enum { SIDES_ERROR_BYTES = 1024 };

struct side_recording {
	char **paths;
	size_t count;
};

struct side {
	struct side_recording *recordings; /* in order of names; at least one */
	size_t count;
};

/* A recording with all that was found out about it. It may not be moved. */
struct side_analysis {
	struct recording recording;
	struct labels labels;
	struct analysis analysis;
};

/* 0, or -errno with a line in `error`. */
int side_list(struct side *side, const char *path, char error[SIDES_ERROR_BYTES]);
void side_free(struct side *side);

/* With answers and checks, or without. 0, or -errno with a line in `error`; then there is nothing
 * to free. */
int side_analyze(struct side_analysis *of, const struct side_recording *from,
		 const struct options *options, bool has_answers, char error[SIDES_ERROR_BYTES]);
void side_analysis_free(struct side_analysis *of);

#endif
