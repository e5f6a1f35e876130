/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's own metrics: metrics.def.
 *
 * One set for the program, in plain variables: one thread.
 */
#ifndef WCPROF_METRICS_H
#define WCPROF_METRICS_H

#include "body.h"

struct metrics {
#define METRIC(name, type, help) double name;
#include "metrics.def"
#undef METRIC
};

extern struct metrics metrics;

/* Takes what the kernel says of this process and its children. */
void metrics_measure(void);
/* In the text format of Prometheus. */
void metrics_put(struct body *body);
/* The same into a file that is replaced at once: a reader finds the old one or the new one. 0, or
 * -errno. */
int metrics_write(const char *path);

#endif
