/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values that probed functions got and returned in each request that is judged.
 *
 * One thread; an analysis is only read.
 */
#ifndef WCPROF_REQUESTVALUES_H
#define WCPROF_REQUESTVALUES_H

#include <stdio.h>

#include "measure/values.h"

struct analysis;

/* From when on its thread worked for it: what came before it was read is another one's. */
struct value_request request_values_span(const struct analysis *, uint32_t request);
/* By the index of the request; those that are not judged have none. Freed by value_lists_free(). */
void request_values_build(struct value_lists *, const struct analysis *);
/* "rebuild(depth=990) parse(path="/all")", in the order of the recording. Allocated; "" = it has
 * none. */
char *request_values_text(const struct value_lists *, const struct analysis *, size_t request);
/* The same as an array of JSON. */
void request_values_json(const struct value_lists *, const struct analysis *, size_t request,
			 FILE *file);

#endif
