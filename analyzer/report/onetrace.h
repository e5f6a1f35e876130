/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trace that --trace asks for. Any thread.
 */
#ifndef WCPROF_ONETRACE_H
#define WCPROF_ONETRACE_H

#include "analysis.h"

struct one_trace {
	const struct traced *trace;
	const struct trace_stretch *stretches; /* as many as it has */
	uint32_t request;                      /* NO_INDEX = no call of it was recorded */
	uint64_t start_ns;                     /* of the request, else of the first stretch */
	uint64_t end_ns;
	size_t process_count;
	size_t thread_count;
	size_t span_count;
};

/* 0, or -EINVAL with a line in `error`: no digits, or no such trace, or several. */
int one_trace_find(struct one_trace *one, const struct analysis *analysis,
		   char error[OPTIONS_ERROR_BYTES]);

#endif
