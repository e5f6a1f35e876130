/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames of a Python interpreter's other threads, from copies of its memory. Private to python.c.
 *
 * The kernel copies, and says where there is nothing. So memory that is taken away meanwhile costs
 * a frame, and no more. Threads: any, inside the recorder.
 */
#ifndef WCPROF_PYTHON_COPIED_H
#define WCPROF_PYTHON_COPIED_H

#include "python.h"
#include "python_layout.h"

enum {
	COPIED_FRAMES_MAX = 24,
	COPIED_WINDOW_BYTES = 2048, /* of the memory in which calls have their frames */
	COPIED_TEXT_CHARACTERS = 120,
	COPIED_TEXT_BYTES = PYTHON_TEXT_OTHER + 4 * COPIED_TEXT_CHARACTERS,
	COPIED_LINES_BYTES = 2048,
	/* Of a function, with where its names and lines are. */
	COPIED_HEAD_WORDS = PYTHON_CODE_LINES / sizeof(uint64_t) + 1
};

/* A walk through the frames. */
struct python_copied_walk {
	uint64_t state[(PYTHON_STATE_BYTES - PYTHON_STATE_ENTRY) / sizeof(uint64_t)];
	union {
		uint64_t window[COPIED_WINDOW_BYTES / sizeof(uint64_t)];
		/* Then: */
		uint64_t heads[COPIED_FRAMES_MAX][COPIED_HEAD_WORDS];
	};
	uint64_t window_at; /* where it lies */
	uint64_t window_bytes;
	uint32_t count;
	uint64_t code[COPIED_FRAMES_MAX];
	uint64_t at[COPIED_FRAMES_MAX];
	uint64_t entry[COPIED_FRAMES_MAX];
};

/* A function, its name, that of its file, and its lines. */
struct python_copied_code {
	uint64_t code[PYTHON_CODE_INSTRUCTIONS / sizeof(uint64_t)];
	uint64_t name[COPIED_TEXT_BYTES / sizeof(uint64_t)];
	uint64_t file[COPIED_TEXT_BYTES / sizeof(uint64_t)];
	uint64_t lines[(PYTHON_BYTES_DATA + COPIED_LINES_BYTES) / sizeof(uint64_t)];
};

/* Room for one of them at a time. */
struct python_copy {
	union {
		struct python_copied_walk walk;
		struct python_copied_code of;
	};
	uint64_t names[COPIED_FRAMES_MAX]; /* by frame: a digest of its function */
};

/* As python_frames(), of the thread with that state. */
uint64_t python_copied_frames(struct python_copy *, uint64_t state, uint64_t hook, uint32_t depth,
			      struct python_frames *) HIDDEN;

/* Copies a function with all that its name and lines are read from. Returns where the copy is; 0:
 * it is none any more. */
uint64_t python_copied_code(struct python_copy *, uint64_t code) HIDDEN;

#endif
