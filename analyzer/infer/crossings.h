/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounds on how far the clocks of machines are apart, by bytes that went between them.
 *
 * Of streams of bytes of which both ends were recorded, each read comes after the write of its last
 * byte. Read-only on the recording, whose times are still those of each machine's own clock.
 */
#ifndef WCPROF_CROSSINGS_H
#define WCPROF_CROSSINGS_H

#include "base/clockfit.h"
#include "recording/recording.h"

/* Of two clocks, `from` is the first one: bounds on what is to be added to the times of `to`. */
struct crossing {
	uint32_t from;
	uint32_t to;
	struct clock_bound *least;
	size_t least_count;
	size_t least_room;
	struct clock_bound *most;
	size_t most_count;
	size_t most_room;
	size_t connections;
	size_t unmatched; /* of these: no order of their bytes fits the others' */
	bool is_guessed;  /* none was recorded from its beginning */
};

struct crossings {
	struct crossing *crossings;
	size_t count;
	size_t room;
};

void crossings_find(struct crossings *, const struct recording *);
void crossings_free(struct crossings *);

#endif
