/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kinds of requests, by their first words (WCPROF_PEEK): how long each took, and which to judge by.
 *
 * Figures are made of finished requests and of those that the recording cut off, which would have
 * taken longer.
 */
#ifndef WCPROF_KINDS_H
#define WCPROF_KINDS_H

#include "analysis.h"
#include "requestfigures.h"

struct kind_row {
	uint32_t kind; /* string id; 0 = those of this source whose kind is not known */
	enum request_source source;
	struct request_figures figures;
	uint64_t total_ns;
	bool is_judged; /* hypotheses are judged by some of them */
};

/* Those of sources of which any kind is known: source by source, and of each the kinds with the
 * most time first. To be freed by the caller; NULL and no count: no kind is known. */
struct kind_row *kinds_list(const struct requests *, size_t *count);

/* Judges hypotheses by the requests that --kind names, before any is asked about; an error's text
 * and -EINVAL, if it names none. */
int kinds_choose(struct analysis *, char error[OPTIONS_ERROR_BYTES]);

#endif
