/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The samples of a recording, by thread and time. Reads only, but for samples_sort(), which is the
 * reader's. Any thread.
 */
#ifndef WCPROF_SAMPLES_H
#define WCPROF_SAMPLES_H

#include "recording.h"

/* Puts them into the order that recording.h promises; false: no memory. */
bool samples_sort(struct recording *recording);

/* Below, equal to or above 0, as `a` comes before `b`. */
int sample_compare(const struct rec_sample *a, const struct rec_sample *b);

/* The samples of one thread, in order of time; NULL: there are none. */
const struct rec_sample *samples_of_thread(const struct recording *recording, uint32_t thread,
					   size_t *count);

/*
 * CPU time that a thread had used by `at_ns`; `samples` are all of its samples, in order. Between
 * two samples it is taken to have run evenly, before and after all of them not at all.
 */
uint64_t samples_cpu_at(const struct rec_sample *samples, size_t count, uint64_t at_ns);

/* The text in place of a stack says that a sample's thread was not in what WCPROF_SAMPLE_WHEN asks
 * for: what it ran is not known. */
bool samples_is_outside(const struct recording *recording, uint32_t stack);
/* How many samples have such a text; those with call stacks, if `inside` is not NULL. */
size_t samples_outside(const struct recording *recording, size_t *inside);

/* CPU time of all threads between their first and last samples. */
uint64_t samples_cpu_ns(const struct recording *recording);

#endif
