/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tail of an analysis's requests against their body, by the parts of their paths.
 *
 * One thread.
 */
#ifndef WCPROF_TAILED_H
#define WCPROF_TAILED_H

#include "measure/tail.h"
#include "paths/pathparts.h"

struct analysis;

struct tailed {
	struct tail tail;   /* keys are parts of the analysis's paths */
	uint32_t *requests; /* index of each, as the tail numbers them: in order of their begin */
};

struct options;

/* "95:parse_*": the pattern of classes whose calls are asked for; NULL = requests are. */
const char *tailed_class(const char *text);
/* A percentile that may be asked for; 0 = the text is none. */
double tailed_percent(const char *text);
/* The one that --tail asks for; 99 if it is not given. */
double tailed_asked(const struct options *options);

/* False: there are no requests, or nobody asked for their paths. */
bool tailed_build(struct tailed *tailed, const struct analysis *analysis, double percent);
void tailed_free(struct tailed *tailed);

#endif
