/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which request a thread works for, moment by moment.
 *
 * Of requests within each other the outermost counts. Where two overlap, as on a thread that serves
 * several connections in turn, nobody knows: such stretches are in no span. Waits for a lock that
 * stand for requests are none here. Built once, read-only afterwards.
 */
#ifndef WCPROF_REQUEST_SPANS_H
#define WCPROF_REQUEST_SPANS_H

#include "walk.h"

struct request_span {
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t thread;
	uint32_t request; /* index into `requests` */
};

struct request_spans {
	struct walk_request *requests;
	struct request_span *spans; /* by thread, each in order of time, without overlap */
	size_t count;
};

void request_spans_build(struct request_spans *spans, const struct walk *walk);
void request_spans_free(struct request_spans *spans);

/* The first span of a thread that ends after `at_ns`; NULL = none. */
const struct request_span *request_spans_after(const struct request_spans *spans, uint32_t thread,
					       uint64_t at_ns);

/* The request at that moment; NULL = none is known. */
const struct walk_request *request_spans_at(const struct request_spans *spans, uint32_t thread,
					    uint64_t at_ns);

#endif
