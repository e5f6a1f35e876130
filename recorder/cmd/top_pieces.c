/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last pieces of threads' time; top_pieces.h has the contract.
 *
 * A ring. A piece knows the one before of its thread by its number, which is never given again.
 */
#include "top_pieces.h"

#include <stdlib.h>

bool top_pieces_begin(struct top_pieces *pieces)
{
	*pieces = (struct top_pieces){ .ring = calloc(TOP_PIECES_MAX, sizeof(*pieces->ring)) };
	return pieces->ring;
}

void top_pieces_end(struct top_pieces *pieces)
{
	free(pieces->ring);
	*pieces = (struct top_pieces){ .count = 0 };
}

void top_pieces_forget(struct top_pieces *pieces, uint64_t until_ns)
{
	pieces->since_ns = until_ns > pieces->since_ns ? until_ns : pieces->since_ns;
}

uint64_t top_pieces_add(struct top_pieces *pieces, uint64_t end_ns, uint64_t before, uint32_t stack,
			double ns)
{
	struct top_piece *piece = &pieces->ring[pieces->count++ % TOP_PIECES_MAX];

	if (pieces->count > TOP_PIECES_MAX)
		top_pieces_forget(pieces, piece->end_ns);
	*piece = (struct top_piece){
		.end_ns = end_ns, .before = before, .stack = stack, .ns = (float)ns
	};
	return pieces->count;
}

const struct top_piece *top_pieces_find(const struct top_pieces *pieces, uint64_t number,
					uint64_t since_ns)
{
	const struct top_piece *piece = &pieces->ring[(number - 1) % TOP_PIECES_MAX];

	since_ns = since_ns > pieces->since_ns ? since_ns : pieces->since_ns;
	if (number == 0 || number + TOP_PIECES_MAX <= pieces->count)
		return NULL;
	return piece->end_ns > since_ns ? piece : NULL;
}
