/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links to traces in a tracing system's own pages, by the template of --trace-url. Any thread.
 */
#ifndef WCPROF_TRACEURL_H
#define WCPROF_TRACEURL_H

#include "base/options.h"

/* With {trace} and {span} filled in; "" = no template, or no trace. To be freed. */
char *trace_url(const char *template, const char *trace, const char *span);

/* 0, or -EINVAL with a line in `error`: nothing that a page may link to, or without {trace}. */
int trace_url_check(const char *template, char error[OPTIONS_ERROR_BYTES]);

#endif
