/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A part of a recording in place of the whole.
 *
 * First every op is judged, parents before children whatever their order. Then the arrays are
 * closed up in place and every index is put right. Threads, modules and stacks stay as they are.
 * One thread, before any graph of the recording is built.
 */
#include "select.h"

#include <assert.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum verdict { VERDICT_NONE, VERDICT_CLIENT, VERDICT_OTHER };

struct selecting {
	const struct selection *selection;
	struct recording *recording;
	uint8_t *verdicts;   /* enum verdict per op: whether it is below an op of the client */
	uint32_t *new_index; /* per op: where it goes, NO_INDEX = it does not stay */
	bool *thread_stays;  /* per thread */
	uint64_t from_ns;    /* in the recording's time */
	uint64_t to_ns;
};

bool selection_is_all(const struct selection *selection)
{
	return !selection->client[0] && !selection->thread_glob[0] && selection->from_ns == 0 &&
	       selection->to_ns == UINT64_MAX;
}

/* Walks up to an op whose verdict is known, then writes it along the way. */
static bool op_is_of_client(struct selecting *selecting, uint32_t op)
{
	const struct recording *recording = selecting->recording;
	enum verdict verdict = VERDICT_NONE;
	uint32_t at = op;
	while (verdict == VERDICT_NONE) {
		const struct rec_op *here = &recording->ops[at];
		if (selecting->verdicts[at] != VERDICT_NONE)
			verdict = selecting->verdicts[at];
		else if (strcmp(recording->strings[here->client], selecting->selection->client) ==
			 0)
			verdict = VERDICT_CLIENT;
		else if (here->parent == NO_INDEX)
			verdict = VERDICT_OTHER;
		else
			at = here->parent;
	}
	for (; selecting->verdicts[op] == VERDICT_NONE; op = recording->ops[op].parent) {
		selecting->verdicts[op] = verdict;
		if (op == at)
			break;
	}
	return verdict == VERDICT_CLIENT;
}

static bool op_stays(struct selecting *selecting, uint32_t op_index)
{
	const struct rec_op *op = &selecting->recording->ops[op_index];
	if (op->end_ns < selecting->from_ns || op->start_ns > selecting->to_ns)
		return false;
	if (selecting->thread_stays &&
	    (op->thread == NO_INDEX || !selecting->thread_stays[op->thread]))
		return false;
	return !selecting->selection->client[0] || op_is_of_client(selecting, op_index);
}

static void selecting_match_threads(struct selecting *selecting)
{
	const struct recording *recording = selecting->recording;
	if (!selecting->selection->thread_glob[0])
		return;
	selecting->thread_stays = memory_new(recording->thread_count, sizeof(bool));
	for (size_t i = 0; i < recording->thread_count; i++)
		selecting->thread_stays[i] =
			fnmatch(selecting->selection->thread_glob,
				recording->strings[recording->threads[i].name], 0) == 0;
}

/* The recording's time of a point counted from the first op's start. */
static void selecting_find_times(struct selecting *selecting)
{
	const struct recording *recording = selecting->recording;
	uint64_t first_ns = recording->op_count ? UINT64_MAX : 0;
	for (size_t i = 0; i < recording->op_count; i++)
		if (recording->ops[i].start_ns < first_ns)
			first_ns = recording->ops[i].start_ns;
	selecting->from_ns = first_ns + selecting->selection->from_ns;
	selecting->to_ns = selecting->selection->to_ns > UINT64_MAX - first_ns
				   ? UINT64_MAX
				   : first_ns + selecting->selection->to_ns;
}

static uint32_t selecting_count(struct selecting *selecting)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < selecting->recording->op_count; i++)
		selecting->new_index[i] = op_stays(selecting, i) ? count++ : NO_INDEX;
	return count;
}

static uint32_t index_after(const struct selecting *selecting, uint32_t op)
{
	return op == NO_INDEX ? NO_INDEX : selecting->new_index[op];
}

/* The nearest ancestor that stays; what was skipped on the way is remembered in the ops skipped. */
static uint32_t parent_after(const struct selecting *selecting, uint32_t op)
{
	struct rec_op *ops = selecting->recording->ops;
	uint32_t found = ops[op].parent;
	while (found != NO_INDEX && selecting->new_index[found] == NO_INDEX)
		found = ops[found].parent;
	for (uint32_t at = ops[op].parent; at != found;) {
		uint32_t above = ops[at].parent;
		ops[at].parent = found;
		at = above;
	}
	return index_after(selecting, found);
}

static uint64_t time_within(const struct selecting *selecting, uint64_t at_ns)
{
	if (at_ns < selecting->from_ns)
		return selecting->from_ns;
	return at_ns > selecting->to_ns ? selecting->to_ns : at_ns;
}

static void close_up_ops(struct selecting *selecting)
{
	struct recording *recording = selecting->recording;
	/* Parents first, while the indexes are still the old ones. */
	uint32_t *parents = memory_new(recording->op_count, sizeof(*parents));
	for (uint32_t i = 0; i < recording->op_count; i++)
		parents[i] =
			selecting->new_index[i] == NO_INDEX ? NO_INDEX : parent_after(selecting, i);
	size_t kept = 0;
	for (uint32_t i = 0; i < recording->op_count; i++) {
		if (selecting->new_index[i] == NO_INDEX)
			continue;
		assert(selecting->new_index[i] == kept);
		struct rec_op *op = &recording->ops[kept];
		*op = recording->ops[i];
		op->parent = parents[i];
		op->start_ns = time_within(selecting, op->start_ns);
		op->end_ns = time_within(selecting, op->end_ns);
		if (recording->extras)
			recording->extras[kept] = recording->extras[i];
		kept++;
	}
	recording->op_count = kept;
	if (recording->open_op_count > kept)
		recording->open_op_count = kept;
	free(parents);
}

static void close_up_waits(struct selecting *selecting)
{
	struct recording *recording = selecting->recording;
	size_t kept = 0;
	for (size_t i = 0; i < recording->wait_count; i++) {
		struct rec_wait wait = recording->waits[i];
		wait.waiter = index_after(selecting, wait.waiter);
		if (wait.waiter == NO_INDEX || wait.end_ns < selecting->from_ns ||
		    wait.start_ns > selecting->to_ns)
			continue;
		wait.target = index_after(selecting, wait.target);
		wait.start_ns = time_within(selecting, wait.start_ns);
		wait.end_ns = time_within(selecting, wait.end_ns);
		recording->waits[kept++] = wait;
	}
	recording->wait_count = kept;
}

static void close_up_links(struct selecting *selecting)
{
	struct recording *recording = selecting->recording;
	size_t kept = 0;
	for (size_t i = 0; i < recording->link_count; i++) {
		struct rec_link link = recording->links[i];
		link.from = index_after(selecting, link.from);
		link.to = index_after(selecting, link.to);
		if (link.from == NO_INDEX && link.to == NO_INDEX)
			continue;
		recording->links[kept++] = link;
	}
	recording->link_count = kept;
}

static void close_up_samples(struct selecting *selecting)
{
	struct recording *recording = selecting->recording;
	size_t kept = 0;
	for (size_t i = 0; i < recording->sample_count; i++) {
		struct rec_sample sample = recording->samples[i];
		assert(sample.thread < recording->thread_count);
		if (sample.at_ns < selecting->from_ns || sample.at_ns > selecting->to_ns ||
		    (selecting->thread_stays && !selecting->thread_stays[sample.thread]))
			continue;
		sample.op = index_after(selecting, sample.op);
		if (selecting->selection->client[0] && sample.op == NO_INDEX)
			continue;
		recording->samples[kept++] = sample;
	}
	recording->sample_count = kept;
}

static void put_owners_right(struct selecting *selecting)
{
	struct recording *recording = selecting->recording;
	for (size_t i = 0; i < recording->thread_count; i++)
		recording->threads[i].op = index_after(selecting, recording->threads[i].op);
	for (size_t i = 0; i < recording->process_count; i++)
		recording->processes[i].op = index_after(selecting, recording->processes[i].op);
}

int selection_apply(const struct selection *selection, struct recording *recording)
{
	struct selecting selecting = {
		.selection = selection,
		.recording = recording,
		.verdicts = memory_new(recording->op_count, sizeof(*selecting.verdicts)),
		.new_index = memory_new(recording->op_count, sizeof(*selecting.new_index)),
	};
	selecting_match_threads(&selecting);
	selecting_find_times(&selecting);
	int result = selecting_count(&selecting) > 0 ? 0 : -ENOENT;
	if (result == 0) {
		close_up_ops(&selecting);
		close_up_waits(&selecting);
		close_up_links(&selecting);
		close_up_samples(&selecting);
		put_owners_right(&selecting);
	}
	free(selecting.verdicts);
	free(selecting.new_index);
	free(selecting.thread_stays);
	return result;
}
