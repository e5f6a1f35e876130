/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers the parts of paths; pathparts.h has the contract. */
#include "pathparts.h"

enum { WORDS = 3 };

static const char *const kind_words[] = {
	[PATH_CPU] = "cpu",       [PATH_CPU_WAIT] = "cpu wait", [PATH_LOCK] = "lock",
	[PATH_IO] = "io",         [PATH_WAIT] = "wait",         [PATH_DOWNSTREAM] = "downstream",
	[PATH_QUEUED] = "queued", [PATH_WAKING] = "waking",     [PATH_UNEXPLAINED] = "unexplained",
};

void path_parts_begin(struct path_parts *parts)
{
	tuples_begin(&parts->tuples, WORDS);
}

void path_parts_free(struct path_parts *parts)
{
	tuples_free(&parts->tuples);
}

uint32_t path_parts_add(struct path_parts *parts, enum path_kind kind, uint32_t name, uint32_t by)
{
	return tuples_add(&parts->tuples, (const uint32_t[WORDS]){ kind, name, by });
}

struct path_part path_parts_at(const struct path_parts *parts, uint32_t number)
{
	const uint32_t *words = tuples_at(&parts->tuples, number);
	return (struct path_part){ (enum path_kind)words[0], words[1], words[2] };
}

const char *path_kind_word(enum path_kind kind)
{
	return kind_words[kind];
}
