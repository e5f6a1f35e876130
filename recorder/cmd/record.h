/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a program with the library, and collects what it and all its children record into one file.
 *
 * The program runs as it would without us: same terminal, same process group, its own signal
 * mask; its exit status is passed on.
 */
#ifndef WCPROF_RECORD_H
#define WCPROF_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd.h"

/* A run that is one of many. */
struct record_run {
	int output_fd;       /* the program's standard output; -1: ours */
	const char *slow;    /* file with what is to take longer, NULL = none */
	uint64_t wall_ns;    /* from its start to its own end */
	bool is_interrupted; /* by a signal that ends programs */
};

/* The program that the options name, to the file that they name. Its status, or one of cmd.h. */
int record_program(const struct cmd_options *options, struct record_run *run);

#endif
