/* SPDX-License-Identifier: Apache-2.0 */
/* Requests as lines of JSON, each with the parts of its latency. One thread. */
#ifndef WCPROF_REQUESTLINES_H
#define WCPROF_REQUESTLINES_H

#include <stdio.h>

struct analysis;

/* Of an analysis with paths; wcprof-analyze(1) has the keys. */
void request_lines_write(FILE *file, const struct analysis *analysis);

#endif
