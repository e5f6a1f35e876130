/* SPDX-License-Identifier: Apache-2.0 */
/* One row for each use, sorted and added up; lockuses.h has the contract. */
#include "lockuses.h"

#include <fnmatch.h>
#include <stdlib.h>

#include "base/bound.h"
#include "base/memory.h"
#include "recording/intern.h"

enum { TEXT_BYTES_MAX = 2048 };

static const char *const lock_functions[] = {
#define LOCK_FUNCTION(glob, meaning) glob,
#include "runtime.def"
	NULL,
};

static bool only_locks(struct caller caller)
{
	const char *function = caller.place->frames[caller.frame].function;

	for (const char *const *glob = lock_functions; function && *glob; glob++)
		if (fnmatch(*glob, function, 0) == 0)
			return true;
	return false;
}

static uint32_t look_at(struct recording *recording, struct callers *callers, uint32_t stack)
{
	struct caller caller = callers_innermost(callers, stack), second = { .place = NULL };
	char text[TEXT_BYTES_MAX];

	if (!caller.place)
		return NO_INDEX;
	if (only_locks(caller))
		second = callers_second(callers, stack);
	callers_site_text(second.place ? second : caller, text, sizeof(text));
	return recording_intern(recording, text);
}

void lock_uses_add(struct lock_uses *uses, struct recording *recording, struct callers *callers,
		   uint32_t kind, uint32_t stack, uint64_t waited_ns, uint64_t held_ns)
{
	if (!stack)
		return;
	if (!uses->sites)
		uses->sites = memory_new(recording->stack_count, sizeof(*uses->sites));
	if (!uses->sites[stack])
		uses->sites[stack] = look_at(recording, callers, stack);
	if (uses->sites[stack] == NO_INDEX)
		return;
	uses->uses = memory_grow(uses->uses, &uses->capacity, uses->count + 1, sizeof(*uses->uses));
	uses->uses[uses->count++] =
		(struct lock_use){ kind, uses->sites[stack], waited_ns, held_ns };
}

static int compare_uses(const void *left, const void *right)
{
	const struct lock_use *a = left, *b = right;

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return (a->site > b->site) - (a->site < b->site);
}

void lock_uses_count(struct lock_uses *uses)
{
	size_t kept = 0;

	if (uses->count)
		qsort(uses->uses, uses->count, sizeof(*uses->uses), compare_uses);
	for (size_t i = 0; i < uses->count; i++) {
		if (kept && !compare_uses(&uses->uses[kept - 1], &uses->uses[i])) {
			uses->uses[kept - 1].waited_ns += uses->uses[i].waited_ns;
			uses->uses[kept - 1].held_ns += uses->uses[i].held_ns;
		} else {
			uses->uses[kept++] = uses->uses[i];
		}
	}
	uses->count = kept;
}

static bool is_more(const struct lock_use *use, const struct lock_use *than)
{
	if (use->waited_ns != than->waited_ns)
		return use->waited_ns > than->waited_ns;
	return use->held_ns > than->held_ns;
}

uint32_t lock_uses_most(const struct lock_uses *uses, uint32_t kind)
{
	const struct lock_use *most = NULL;
	const struct lock_use first = { .kind = kind };

	for (size_t i = bound_lower(&first, uses->uses, uses->count, sizeof(first), compare_uses);
	     i < uses->count && uses->uses[i].kind == kind; i++)
		if (!most || is_more(&uses->uses[i], most))
			most = &uses->uses[i];
	return most ? most->site : 0;
}

void lock_uses_free(struct lock_uses *uses)
{
	free(uses->uses);
	free(uses->sites);
	*uses = (struct lock_uses){ 0 };
}
