/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of a Python program that a thread is in, as its interpreter has them.
 *
 * They are read from memory of the interpreter that nobody else changes meanwhile: none of its code
 * is called, and no lock of its taken. That takes knowing where it keeps things, which is its own
 * affair. So one version is known (python.c), and of others nothing is read.
 *
 * As it ends, the interpreter may take that memory away while a thread is in a call. Only the
 * thread that started it ends it. So the memory of any other one is copied by the kernel, which
 * says where there is none any more (python_copied.c).
 *
 * Threads: any, inside the recorder; not in a sample, which may come while frames change.
 */
#ifndef WCPROF_PYTHON_H
#define WCPROF_PYTHON_H

#include <stdbool.h>
#include <stdint.h>

#include "atomics.h"
#include "recorder.h"

enum { PYTHON_FRAMES_MAX = 64 };

struct python_copy;

/* Innermost first. */
struct python_frames {
	uint32_t count;
	bool is_copied; /* they are of another thread than the one that started the interpreter */
	struct python_copy *copy;              /* room for its copies; the caller's */
	uint64_t code[PYTHON_FRAMES_MAX];      /* the function */
	uint64_t at[PYTHON_FRAMES_MAX];        /* bytes into its instructions */
	uint64_t native_at[PYTHON_FRAMES_MAX]; /* an address in the native frame that runs it */
};

/* Looks for an interpreter of a version that is known. Before the first capture, if the option
 * `python` wants it; until then there are no frames. */
void python_start(void) HIDDEN;

/* Whether python_start() found one. */
extern bool python_is_read HIDDEN;

/* Reads the frames of the calling thread, at most `depth`, to `frames`, if that is not NULL. The
 * hook's own frame is at `hook`. Returns a digest of all that they say; 0: there are none. */
uint64_t python_frames(uint64_t hook, uint32_t depth, struct python_frames *frames) HIDDEN;

/* As above, without the frames, and quick where there is no interpreter. */
static inline uint64_t python_digest(uint64_t hook, uint32_t depth)
{
	return UNLIKELY(load_relaxed(&python_is_read)) ? python_frames(hook, depth, NULL) : 0;
}

/* The word of a recorded stack for one of them; 0: its name cannot be kept. Words of the same
 * generation are of one recording. `room` has 1 KiB. */
uint64_t python_word(const struct python_frames *, uint32_t index, uint64_t generation,
		     char *room) HIDDEN;

#endif
