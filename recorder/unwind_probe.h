/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The address space that does not exist, through which libunwind steps while unwind.c learns.
 *
 * Registers hold tokens, and reading memory at a token yields another token that stands for that
 * place. A token has its family in the top byte (a register, or a place that was read) and an
 * offset from the probe's middle. After a step, the tokens in the registers tell how each was
 * computed.
 *
 * A probe is one experiment, on a stack that has room for it. Real memory is read only inside the
 * readable segments of the module that has the code. Threads: any, between learners_enter() and
 * learners_leave() of unwind.c.
 */
#ifndef WCPROF_UNWIND_PROBE_H
#define WCPROF_UNWIND_PROBE_H

#include <dlfcn.h>
#include <libunwind-x86_64.h>
#include <stdbool.h>
#include <stdint.h>

#include "unwind.h"

enum {
	PROBE_SEGMENTS_MAX = 12, /* of one module; the usual number is 4 or 5 */
	PROBE_READS_MAX = 24     /* places of one experiment; a signal frame has 18 */
};

/* Missing before glibc 2.35: there, stacks have one frame. */
extern __typeof__(_dl_find_object) _dl_find_object __attribute__((weak));

struct probe_segment {
	uint64_t start;
	uint64_t end;
};

struct probe {
	uint64_t pc;
	uint64_t middle; /* offset in a token's span that stands for the register's value */
	struct probe_segment segments[PROBE_SEGMENTS_MAX];
	uint64_t read_at[PROBE_READS_MAX]; /* tokens: places in order of their first reading */
	uint32_t segment_count;
	uint32_t read_count;
	bool found; /* the tables cover pc */
};

/* Top bytes: families. Real addresses have 0 there, and registers of no interest a number from
 * TOKEN_OTHER on. */
enum { TOKEN_REGISTER = 0x10, TOKEN_OTHER = 0x20, TOKEN_READ = 0x40, TOKEN_SHIFT = 56 };

static inline uint64_t probe_token(const struct probe *probe, unsigned family)
{
	return ((uint64_t)family << TOKEN_SHIFT) + probe->middle;
}

static inline unsigned probe_family(uint64_t value)
{
	return (unsigned)(value >> TOKEN_SHIFT);
}

/* A family's value + offset; false when it is too far off to be one. */
bool probe_offset(const struct probe *, uint64_t value, int32_t *offset) HIDDEN;
/* The address at which the value was read, 0 if it was not read from memory as it is. */
uint64_t probe_address(const struct probe *, uint64_t value) HIDDEN;

/* libunwind's numbers of the registers of a rule; UNWIND_PC is asked for apart. */
extern const uint8_t probe_registers[UNWIND_REGISTER_COUNT] HIDDEN;

/* Sets up the address space, before the first probe. False: there is no memory for it. */
bool probe_start(void) HIDDEN;
/* A new experiment with the frame of `pc`, of which nothing is known yet. */
void probe_begin(struct probe *, uint64_t pc, uint64_t middle) HIDDEN;
/* One step of libunwind's, from the frame to its caller; false: there is none. */
bool probe_step(struct probe *, unw_cursor_t *) HIDDEN;
/* Whether so many bytes lie in one readable segment of the code's module. */
bool probe_may_read(const struct probe *, uint64_t address, uint64_t bytes) HIDDEN;

#endif
