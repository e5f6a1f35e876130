/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The check that finds waits of which a faster program would have others.
 *
 * A thread that comes to a place waits there now and then, until a certain other one has done its
 * part. It is that part's turn, or an entry of a cache. No count of tokens explains such waits. The
 * replay keeps those of the recording, each with its signal, and makes no new ones.
 *
 * Waits that all have who come to a place, but for those that signal, stay right.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis.h"
#include "base/assumptions.h"
#include "base/memory.h"
#include "checks_parts.h"
#include "facts.h"

/* A stay in a section, and its place. */
struct stay {
	uint64_t place;
	uint32_t section;
	bool waits; /* for a recorded signal */
};

static int compare_stays(const void *left, const void *right)
{
	const struct stay *a = left, *b = right;
	if (a->place != b->place)
		return a->place < b->place ? -1 : 1;
	return (a->section > b->section) - (a->section < b->section);
}

/* By link: waits for it are replayed as they were recorded. To be freed. */
static bool *kept_links(const struct script *script, size_t link_count)
{
	bool *is_kept = memory_new(link_count, sizeof(*is_kept));
	for (size_t i = 0; i < script->step_count; i++)
		if (script->steps[i].type == STEP_AFTER)
			is_kept[script->steps[i].arg] = true;
	return is_kept;
}

static bool signals(const struct section *section)
{
	return section->first_signal_ns != UINT64_MAX;
}

/* It did not wait, and does for others what they wait for: here or when it comes back. */
static bool leads(const struct monitors *monitors, uint32_t index)
{
	const struct section *section = &monitors->sections[index], *next = section + 1;
	return signals(section) ||
	       (index + 1 < monitors->section_count && next->thread == section->thread &&
		next->mutex == section->mutex && signals(next));
}

static struct stay *stays_find(const struct analysis *analysis, const bool *is_kept, size_t *count)
{
	const struct monitors *monitors = &analysis->script.monitors;
	struct stay *stays = memory_new(monitors->section_count, sizeof(*stays));
	*count = 0;
	for (uint32_t i = 0; i < monitors->section_count; i++) {
		const struct section *section = &monitors->sections[i];
		uint32_t link = section->first_wait == NO_INDEX
					? NO_INDEX
					: monitors->waking_link[section->first_wait];
		bool waits = link != NO_INDEX && is_kept[link];
		if (waits || (section->first_wait == NO_INDEX && !leads(monitors, i)))
			stays[(*count)++] =
				(struct stay){ section->site[SITE_FRAMES - 1], i, waits };
	}
	qsort(stays, *count, sizeof(*stays), compare_stays);
	return stays;
}

/* Many of the stays wait, and many do not. */
static bool is_now_and_then(const struct stay *stays, size_t count)
{
	size_t waits = 0;
	for (size_t i = 0; i < count; i++)
		waits += stays[i].waits;
	return waits >= assume.ended_waits &&
	       (double)(count - waits) > assume.group_varies * (double)count;
}

struct waiting {
	double ns;
	size_t threads;
	bool *has_waited; /* by thread */
	const struct rec_wait *longest;
};

static void waiting_add(struct waiting *waiting, const struct rec_wait *wait)
{
	uint64_t ns = wait->end_ns - wait->start_ns;
	waiting->ns += (double)ns;
	if (wait->thread != NO_INDEX) {
		waiting->threads += !waiting->has_waited[wait->thread];
		waiting->has_waited[wait->thread] = true;
	}
	if (!waiting->longest || ns > waiting->longest->end_ns - waiting->longest->start_ns)
		waiting->longest = wait;
}

static void waiting_find(struct waiting *waiting, const struct analysis *analysis)
{
	const struct recording *recording = analysis->recording;
	const struct monitors *monitors = &analysis->script.monitors;
	bool *is_kept = kept_links(&analysis->script, recording->link_count);
	size_t count;
	struct stay *stays = stays_find(analysis, is_kept, &count);
	for (size_t first = 0, end; first < count; first = end) {
		for (end = first; end < count && stays[end].place == stays[first].place;)
			end++;
		if (!stays[first].place || !is_now_and_then(stays + first, end - first))
			continue;
		for (size_t i = first; i < end; i++)
			if (stays[i].waits)
				waiting_add(waiting,
					    &recording->waits[monitors->sections[stays[i].section]
								      .first_wait]);
	}
	free(stays);
	free(is_kept);
}

static void say(struct check *check, const struct analysis *analysis, const struct rec_wait *wait)
{
	const struct recording *recording = analysis->recording;
	const struct labels *labels = analysis->labels;
	const char *site = labels && labels->sites && wait->stack
				   ? recording->strings[labels->sites[wait->stack]]
				   : "";
	snprintf(
		check->line, sizeof(check->line),
		"threads as `%.40s` (%" PRIu32 ") wait now and then for what a certain other one "
		"has done, in %.40s%s%.60s%s, for %.0f%% of the run: the replay keeps these waits, "
		"and a faster program would have others",
		facts_thread_name(analysis, wait->thread), recording->threads[wait->thread].tid,
		recording->strings[wait->name], site[0] ? " (" : "", site, site[0] ? ")" : "",
		check->value);
}

void checks_unruly(struct check *check, const struct analysis *analysis)
{
	const struct recording *recording = analysis->recording;
	double makespan_ns = facts_recorded_ns(analysis);
	if (!analysis->has_script || !analysis->script.arrivals || !(makespan_ns > 0))
		return;
	struct waiting waiting = { .has_waited = memory_new(recording->thread_count,
							    sizeof(*waiting.has_waited)) };
	waiting_find(&waiting, analysis);
	check->state = CHECK_PASSED;
	check->value = waiting.threads
			       ? checks_percent(waiting.ns, (double)waiting.threads * makespan_ns)
			       : 0;
	if (waiting.longest && waiting.longest->thread != NO_INDEX)
		say(check, analysis, waiting.longest);
	free(waiting.has_waited);
}
