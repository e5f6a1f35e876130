/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The worth of a class from the recording's own variation, without any model of the program.
 *
 * Pieces of work vary over a recording. Stretches in which those of a class took longer than usual
 * are themselves longer by what the class is worth. It is a slope at the run as it was: a regime
 * that changes before the class takes no time is not in it. Classes that do not vary are unknown.
 */
#ifndef WCPROF_SENSITIVITY_H
#define WCPROF_SENSITIVITY_H

#include "recording/classes.h"
#include "recording/recording.h"

struct sensitivity_row {
	uint32_t class;
	double saved_ns; /* if it took no time */
	double error_ns; /* standard error; INFINITY = not known */
};

struct sensitivity {
	struct sensitivity_row *rows; /* of the classes that could be looked at */
	size_t count;
	uint32_t progress; /* class whose ops cut the recording, NO_INDEX = none could */
	size_t stretches;  /* that it was cut into */
};

struct sensitivity_of {
	const struct recording *recording;
	const struct class_table *classes;
	const uint64_t *self_ns; /* by op */
	const bool *is_left_out; /* by op: its length is not its own but another thread's */
	uint64_t makespan_ns;
};

void sensitivity_build(struct sensitivity *sensitivity, const struct sensitivity_of *of);
void sensitivity_free(struct sensitivity *sensitivity);

#endif
