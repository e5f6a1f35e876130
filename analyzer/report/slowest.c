/* SPDX-License-Identifier: Apache-2.0 */
/* Words for a tail; slowest.h has the contract. */
#include "slowest.h"

#include "base/emit.h"
#include "base/memory.h"

enum { PARTS_SAID = 2 };

/* Where a part of a request's time is spent. */
static void say_part(FILE *file, const struct path_part *part, const char *const *strings)
{
	const char *name = strings[part->name];
	switch (part->kind) {
	case PATH_CPU:
		fprintf(file, "running `%s`", name);
		break;
	case PATH_CPU_WAIT:
		fputs("waiting for a CPU", file);
		break;
	case PATH_LOCK:
		fprintf(file, "waiting for the lock `%s`", name);
		if (part->by)
			fprintf(file, " (held by `%s`)", strings[part->by]);
		break;
	case PATH_IO:
		fprintf(file, "in `%s`", name);
		break;
	case PATH_WAIT:
		fprintf(file, "waiting for `%s`", name);
		break;
	case PATH_DOWNSTREAM:
		fprintf(file, "waiting for answers to `%s`", name);
		break;
	case PATH_QUEUED:
		fputs(part->name ? "queued behind other requests" : "queued behind other work",
		      file);
		if (part->by)
			fprintf(file, " in `%s`", strings[part->by]);
		break;
	case PATH_WAKING:
		fputs("waking up", file);
		break;
	case PATH_UNEXPLAINED:
		fputs("for unknown reasons", file);
		break;
	}
}

static void say_parts(FILE *file, const struct tail *tail, const struct path_parts *parts,
		      const char *const *strings)
{
	size_t said = 0;
	for (size_t i = 0; i < tail->told_count && said < PARTS_SAID; i++) {
		const struct tail_part *row = &tail->parts[i];
		const struct path_part part = path_parts_at(parts, row->key);
		char more[EMIT_DURATION_BYTES];
		if (!(row->more_ns.value > 0))
			break;
		emit_format_duration(more, row->more_ns.value);
		fprintf(file, "%s %s ", said++ ? "," : ":", more);
		say_part(file, &part, strings);
	}
	fputs(said ? "." : ", and no part of that stands out.", file);
}

char *slowest_sentence(const struct tail *tail, const struct path_parts *parts,
		       const char *const *strings)
{
	char from[EMIT_DURATION_BYTES], more[EMIT_DURATION_BYTES], *text = NULL;
	size_t length;
	if (tail->state != TAIL_KNOWN || !(tail->whole.more_ns.value > 0))
		return NULL;
	emit_format_duration(from, (double)tail->tail_least_ns);
	emit_format_duration(more, tail->whole.more_ns.value);
	FILE *file = memory_stream(&text, &length);
	fprintf(file, "Slow requests (p%g: %s or longer) take %s more than usual ones",
		tail->percent, from, more);
	say_parts(file, tail, parts, strings);
	fclose(file);
	return text;
}
