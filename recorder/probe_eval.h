/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the programs of probe_code.h.
 *
 * Any thread, also in a signal handler. Allocates nothing, keeps nothing, takes no vector
 * registers. The program's memory is read by the caller's function, as its pointers may be bad.
 */
#ifndef WCPROF_PROBE_EVAL_H
#define WCPROF_PROBE_EVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probe_code.h"

/* The thread that hit the probe, as it was then. */
struct probe_context {
	const uint64_t *registers; /* PROBE_REGISTERS of them */
	uint64_t bias;             /* address in the process = address in the file + bias */
	/* Copies `bytes` of the program's memory; false, and nothing else happens: it is not
	 * there. */
	bool (*read)(void *context, uint64_t address, void *to, size_t bytes);
	void *read_context;
	uint64_t thread; /* pointer of the thread that hit the probe */
	/* Lower halves of PROBE_VECTORS; may be NULL where no fetch begins there. */
	const uint64_t *vectors;
};

struct probe_value {
	uint64_t bits;  /* sign or zero extended; of a string: its address; a double's */
	bool is_known;  /* false: some memory on the way could not be read, or not yet */
	bool is_cut;    /* the string was longer */
	uint8_t length; /* of text */
	char text[PROBE_STRING_BYTES]; /* of a string, with a NUL */
};

enum probe_verdict { PROBE_NO, PROBE_YES, PROBE_UNKNOWN };

/* Whether there are real numbers, or what is in a vector register. */
bool probe_code_has_reals(const struct probe_code *code);

/* Whether the bytes are a program that may be run. They may be a stranger's. */
bool probe_code_is_valid(const struct probe_code *code);

/* At a hit: reads what can be read then; at the return, the rest. `values` has room for
 * PROBE_FETCHES_MAX, and is filled at the hit first. */
void probe_fetch_all(const struct probe_code *code, const struct probe_context *context,
		     bool is_at_return, struct probe_value *values);

/* Whether the hit counts. Before the return only if the code does not need that. */
enum probe_verdict probe_judge(const struct probe_code *code, const struct probe_value *values);

#endif
