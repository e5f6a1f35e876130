/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The values that a probe's text names, at one place. One thread.
 */
#ifndef WCPROF_VARIABLES_FETCHES_H
#define WCPROF_VARIABLES_FETCHES_H

#include "grammar.h"
#include "probe_spec.h"
#include "variables.h"

/*
 * Fills in the place's code. `variables` is NULL where there is no debug information; `arguments`,
 * of a mark, are its values, $arg1 first. 0, or as probe_find().
 */
int fetches_fill(const struct probe_text *text, struct variables *variables,
		 const struct probe_fetch *arguments, size_t argument_count,
		 struct probe_place *place, char error[PROBE_ERROR_BYTES]);

#endif
