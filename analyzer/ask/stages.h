/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that takes work off a queue alone, as a pool of one: others could help it.
 */
#ifndef WCPROF_STAGES_H
#define WCPROF_STAGES_H

#include "question.h"
#include "script/script.h"

/*
 * The script's job lists, and those of the takes of threads of these classes that nobody else
 * takes from. One list a source; the caller frees them with stages_free(). `job_count`: of
 * all lists.
 */
struct job_list *stages_find(const struct script *script, const struct class_table *classes,
			     const struct question *question, uint32_t *job_count);
void stages_free(struct job_list *jobs, size_t source_count);

#endif
