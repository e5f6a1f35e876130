/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks wcprof-analyze about a recording of the trial: for rules, and for predictions.
 *
 * It is run as a program of its own, the one beside this command or else the one in PATH.
 */
#ifndef WCPROF_TRY_ANALYSIS_H
#define WCPROF_TRY_ANALYSIS_H

#include "try.h"

/* The program's path, or its name if PATH has it. */
void try_analysis_program(char *path, size_t size);

/* Called about five times a second while an analysis runs. */
typedef void try_meanwhile(void *context);

/* All that it prints when run with these words, the first of which is its name; the caller frees
 * it. NULL: it could not be run. Its errors go where ours do, if wanted. */
char *try_analysis_output(char *const *words, bool complains, try_meanwhile *meanwhile,
			  void *context, int *exit_status);

/*
 * Of the first recording: which ops each row's rules name, and ways to count progress. Rows of the
 * report's top are added. CMD_DONE, or CMD_FAILED when it has been complained about.
 */
int try_analysis_begin(struct try_plan *plan, const char *dump, try_meanwhile *meanwhile,
		       void *context);

/* Of an undisturbed recording: what the replay says of each row. A recording that cannot be used
 * adds nothing. */
void try_analysis_predict(struct try_plan *plan, const char *dump);

#endif
