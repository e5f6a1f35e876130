/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pieces of the time of threads, each with its stack: the last ones. The begin of a call is known
 * only when it has ended. So what its thread did meanwhile is found here, from the end backwards.
 *
 * One thread.
 */
#ifndef WCPROF_TOP_PIECES_H
#define WCPROF_TOP_PIECES_H

#include <stdbool.h>
#include <stdint.h>

enum { TOP_PIECES_MAX = 1 << 19 };

struct top_piece {
	uint64_t end_ns;
	uint64_t before; /* the one before of its thread; 0 = none */
	uint32_t stack;  /* as top_stacks_find() has it */
	float ns;
};

struct top_pieces {
	struct top_piece *ring;
	uint64_t count;      /* all that ever were */
	uint64_t since_ns;   /* those are here that ended later */
	uint64_t generation; /* of the stacks' numbers */
};

/* False: there is no memory. */
bool top_pieces_begin(struct top_pieces *);
void top_pieces_end(struct top_pieces *);
/* Its number, which is not 0. Those of a thread come in the order of their ends. */
uint64_t top_pieces_add(struct top_pieces *, uint64_t end_ns, uint64_t before, uint32_t stack,
			double ns);
/* Pieces that ended until then are not here. */
void top_pieces_forget(struct top_pieces *, uint64_t until_ns);
/* The piece of that number, or the one before of its thread, if it ended later than that. NULL:
 * there is none. All are there if `since_ns` is not before that of the pieces. */
const struct top_piece *top_pieces_find(const struct top_pieces *, uint64_t number,
					uint64_t since_ns);

#endif
