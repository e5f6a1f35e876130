/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of threads: the start routine's, else that of the function that most of their stacks begin
 * with, else their own. Own names that differ by a number at the end become one: `worker-#`.
 */
#ifndef WCPROF_THREADNAMES_H
#define WCPROF_THREADNAMES_H

#include "callers.h"
#include "recording/recording.h"

/* A string id for each thread, 0 = not known; adds strings to the recording. To be freed. */
uint32_t *thread_names_find(struct recording *recording, struct callers *callers);

/* Whether the thread has a name of its own, not just its program's. */
bool thread_names_itself(const struct recording *recording, const struct rec_thread *thread);

/* The first thread of its process. */
bool thread_is_main(const struct recording *recording, const struct rec_thread *thread);

/* A runtime's own thread, by its name: the program can do nothing about what it does. */
bool thread_name_is_runtime(const char *name);

#endif
