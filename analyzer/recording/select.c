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
#include "format.h"
#include "samples.h"

enum verdict { VERDICT_NONE, VERDICT_CLIENT, VERDICT_OTHER };

struct selecting {
	const struct selection *selection;
	struct recording *recording;
	uint8_t *verdicts;   /* enum verdict per op: whether it is below an op of the client */
	uint32_t *new_index; /* per op: where it goes, NO_INDEX = it does not stay */
	bool *thread_stays;  /* per thread */
	uint32_t *process;   /* per op: of which it is, NO_INDEX = not known */
	/* Per process, and of none at the end; in the recording's time. NEVER has no op in it. */
	struct window *times;
};

static const struct window NEVER = { UINT64_MAX, 0 };

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

static const struct window *time_of_process(const struct selecting *selecting, uint32_t process)
{
	return &selecting->times[process == NO_INDEX ? selecting->recording->process_count
						     : process];
}

static const struct window *time_of_op(const struct selecting *selecting, uint32_t op)
{
	return time_of_process(selecting, selecting->process[op]);
}

static const struct window *time_of_thread(const struct selecting *selecting, uint32_t thread)
{
	return time_of_process(selecting, thread == NO_INDEX
						  ? NO_INDEX
						  : selecting->recording->threads[thread].process);
}

static bool op_stays(struct selecting *selecting, uint32_t op_index)
{
	const struct rec_op *op = &selecting->recording->ops[op_index];
	const struct window *time = time_of_op(selecting, op_index);
	if (op->end_ns < time->from_ns || op->start_ns > time->to_ns)
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

static void selecting_find_processes(struct selecting *selecting)
{
	const struct recording *recording = selecting->recording;
	for (size_t i = 0; i < recording->op_count; i++) {
		uint32_t thread = recording->ops[i].thread;
		selecting->process[i] = thread < recording->thread_count
						? recording->threads[thread].process
						: NO_INDEX;
	}
	for (uint32_t i = 0; i < recording->process_count; i++)
		if (recording->processes[i].op != NO_INDEX)
			selecting->process[recording->processes[i].op] = i;
}

static void selecting_find_windows(struct selecting *selecting)
{
	const struct recording *recording = selecting->recording;
	const struct window *window = &selecting->selection->window;
	for (uint32_t i = 0; i < recording->process_count; i++)
		if (!window_of_process(recording, i, window, &selecting->times[i]))
			selecting->times[i] = NEVER;
	selecting->times[recording->process_count] = *window;
}

/* From points counted from the first op's start to the recording's time. */
static void selecting_find_times(struct selecting *selecting)
{
	const struct recording *recording = selecting->recording;
	const struct selection *selection = selecting->selection;
	uint64_t first_ns = UINT64_MAX;
	for (uint32_t i = 0; i < recording->op_count; i++) {
		const struct window *time = time_of_op(selecting, i);
		uint64_t start_ns = recording->ops[i].start_ns;
		start_ns = start_ns > time->from_ns ? start_ns : time->from_ns;
		if (recording->ops[i].end_ns >= time->from_ns && start_ns <= time->to_ns &&
		    start_ns < first_ns)
			first_ns = start_ns;
	}
	uint64_t from_ns = selection->from_ns == 0 ? 0
			   : first_ns > UINT64_MAX - selection->from_ns
				   ? UINT64_MAX
				   : first_ns + selection->from_ns;
	uint64_t to_ns =
		selection->to_ns > UINT64_MAX - first_ns ? UINT64_MAX : first_ns + selection->to_ns;
	for (size_t i = 0; i <= recording->process_count; i++) {
		struct window *time = &selecting->times[i];
		time->from_ns = time->from_ns > from_ns ? time->from_ns : from_ns;
		time->to_ns = time->to_ns < to_ns ? time->to_ns : to_ns;
		if (time->from_ns > time->to_ns)
			*time = NEVER;
	}
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

static uint64_t time_within(const struct window *time, uint64_t at_ns)
{
	if (at_ns < time->from_ns)
		return time->from_ns;
	return at_ns > time->to_ns ? time->to_ns : at_ns;
}

static bool is_within(const struct window *time, uint64_t at_ns)
{
	return at_ns >= time->from_ns && at_ns <= time->to_ns;
}

/* Whatever goes on at the end of the time has not ended. */
static bool is_cut_off(const struct window *time, uint64_t end_ns)
{
	return end_ns > time->to_ns;
}

static void close_up_ops(struct selecting *selecting)
{
	struct recording *recording = selecting->recording;
	/* Parents first, while the indexes are still the old ones. */
	uint32_t *parents = memory_new(recording->op_count, sizeof(*parents));
	for (uint32_t i = 0; i < recording->op_count; i++)
		parents[i] =
			selecting->new_index[i] == NO_INDEX ? NO_INDEX : parent_after(selecting, i);
	size_t kept = 0, open = 0;
	for (uint32_t i = 0; i < recording->op_count; i++) {
		if (selecting->new_index[i] == NO_INDEX)
			continue;
		assert(selecting->new_index[i] == kept);
		struct rec_op *op = &recording->ops[kept];
		uint64_t began_ns = recording->ops[i].start_ns;
		bool is_cut = is_cut_off(time_of_op(selecting, i), recording->ops[i].end_ns);
		*op = recording->ops[i];
		op->parent = parents[i];
		op->start_ns = time_within(time_of_op(selecting, i), op->start_ns);
		op->end_ns = time_within(time_of_op(selecting, i), op->end_ns);
		if (recording->extras) {
			recording->extras[kept] = recording->extras[i];
			recording->extras[kept].cut |= began_ns < op->start_ns;
			recording->extras[kept].open |= is_cut;
			open += recording->extras[kept].open;
		}
		kept++;
	}
	recording->op_count = kept;
	recording->open_op_count = open;
	free(parents);
}

static void close_up_waits(struct selecting *selecting)
{
	struct recording *recording = selecting->recording;
	size_t kept = 0;
	for (size_t i = 0; i < recording->wait_count; i++) {
		struct rec_wait wait = recording->waits[i];
		const struct window *time = time_of_thread(selecting, wait.thread);
		wait.waiter = index_after(selecting, wait.waiter);
		if (wait.waiter == NO_INDEX || wait.end_ns < time->from_ns ||
		    wait.start_ns > time->to_ns)
			continue;
		wait.target = index_after(selecting, wait.target);
		wait.open |= is_cut_off(time, wait.end_ns);
		wait.start_ns = time_within(time, wait.start_ns);
		wait.end_ns = time_within(time, wait.end_ns);
		recording->waits[kept++] = wait;
	}
	recording->wait_count = kept;
}

/* Initialisers before the time name what is used in it. */
static bool link_stays(const struct selecting *selecting, const struct rec_link *link)
{
	const struct window *time = time_of_thread(selecting, link->thread);
	if (link->kind == LINK_INIT && link->thread != NO_INDEX && link->at_ns < time->from_ns)
		return !selecting->selection->client[0] && time->from_ns <= time->to_ns &&
		       (!selecting->thread_stays || selecting->thread_stays[link->thread]);
	return (link->from != NO_INDEX || link->to != NO_INDEX) && is_within(time, link->at_ns);
}

static void close_up_links(struct selecting *selecting)
{
	struct recording *recording = selecting->recording;
	size_t kept = 0;
	for (size_t i = 0; i < recording->link_count; i++) {
		struct rec_link link = recording->links[i];
		link.from = index_after(selecting, link.from);
		link.to = index_after(selecting, link.to);
		if (!link_stays(selecting, &link))
			continue;
		link.at_ns = time_within(time_of_thread(selecting, link.thread), link.at_ns);
		recording->links[kept++] = link;
	}
	recording->link_count = kept;
}

/* --- CPU time used, and idle, at both ends of the time --- */

static void keep_sample(struct selecting *selecting, struct rec_sample sample, size_t *kept)
{
	sample.op = index_after(selecting, sample.op);
	if (!selecting->selection->client[0] || sample.op != NO_INDEX)
		selecting->recording->samples[(*kept)++] = sample;
}

/* At an end of the time, as the thread's sample before. */
static struct rec_sample sample_at(struct rec_sample before, uint64_t at_ns, uint64_t cpu_ns)
{
	before.at_ns = at_ns;
	before.cpu_ns = cpu_ns;
	before.stack = 0;
	return before;
}

/* One before the time gives its place to that at the begin, one behind it to that at the end. */
static void close_up_samples_of(struct selecting *selecting, size_t first, size_t count,
				size_t *kept)
{
	struct rec_sample *samples = selecting->recording->samples + first, last = samples[0];
	const struct window *time = time_of_thread(selecting, last.thread);
	uint64_t from_cpu_ns = samples_cpu_at(samples, count, time->from_ns);
	uint64_t to_cpu_ns = samples_cpu_at(samples, count, time->to_ns);
	size_t i = 0;
	for (; i < count && samples[i].at_ns < time->from_ns; i++)
		last = samples[i];
	if (i > 0 && i < count)
		keep_sample(selecting, sample_at(last, time->from_ns, from_cpu_ns), kept);
	for (; i < count && samples[i].at_ns <= time->to_ns; i++) {
		last = samples[i];
		keep_sample(selecting, last, kept);
	}
	if (i > 0 && i < count)
		keep_sample(selecting, sample_at(last, time->to_ns, to_cpu_ns), kept);
}

static void close_up_samples(struct selecting *selecting)
{
	struct recording *recording = selecting->recording;
	size_t kept = 0, next;
	for (size_t i = 0; i < recording->sample_count; i = next) {
		uint32_t thread = recording->samples[i].thread;
		const struct window *time = time_of_thread(selecting, thread);
		assert(thread < recording->thread_count);
		for (next = i;
		     next < recording->sample_count && recording->samples[next].thread == thread;)
			next++;
		if (time->from_ns <= time->to_ns &&
		    (!selecting->thread_stays || selecting->thread_stays[thread]))
			close_up_samples_of(selecting, i, next - i, &kept);
	}
	recording->sample_count = kept;
}

/* Between two looks CPUs are taken to have been idle evenly. */
static struct rec_idle idle_at(struct rec_idle before, struct rec_idle after, uint64_t at_ns)
{
	double part = (double)(at_ns - before.at_ns) / (double)(after.at_ns - before.at_ns);
	after.idle_ns =
		before.idle_ns + (uint64_t)((double)(after.idle_ns - before.idle_ns) * part);
	after.at_ns = at_ns;
	return after;
}

static void close_up_idles(struct selecting *selecting)
{
	struct recording *recording = selecting->recording;
	struct rec_idle before = { .process = NO_INDEX };
	size_t kept = 0;
	for (size_t i = 0; i < recording->idle_count; i++) {
		struct rec_idle idle = recording->idles[i];
		const struct window *time = &selecting->times[idle.process];
		bool has_before = before.process == idle.process && time->from_ns <= time->to_ns;
		if (has_before && before.at_ns < time->from_ns && idle.at_ns > time->from_ns)
			recording->idles[kept++] = idle_at(before, idle, time->from_ns);
		if (has_before && before.at_ns < time->to_ns && idle.at_ns > time->to_ns)
			recording->idles[kept++] = idle_at(before, idle, time->to_ns);
		else if (is_within(time, idle.at_ns))
			recording->idles[kept++] = idle;
		before = idle;
	}
	recording->idle_count = kept;
}

static void close_up_end(struct selecting *selecting)
{
	struct recording *recording = selecting->recording;
	uint64_t last_ns = 0;
	for (size_t i = 0; i < recording->process_count; i++)
		if (selecting->times[i].from_ns <= selecting->times[i].to_ns &&
		    selecting->times[i].to_ns > last_ns)
			last_ns = selecting->times[i].to_ns;
	if (last_ns > 0 && last_ns < recording->end_ns)
		recording->end_ns = last_ns;
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
		.process = memory_new(recording->op_count, sizeof(*selecting.process)),
		.times = memory_new(recording->process_count + 1, sizeof(*selecting.times)),
	};
	selecting_match_threads(&selecting);
	selecting_find_processes(&selecting);
	selecting_find_windows(&selecting);
	selecting_find_times(&selecting);
	int result = selecting_count(&selecting) > 0 ? 0 : -ENOENT;
	close_up_ops(&selecting);
	close_up_waits(&selecting);
	close_up_links(&selecting);
	close_up_samples(&selecting);
	close_up_idles(&selecting);
	close_up_end(&selecting);
	put_owners_right(&selecting);
	free(selecting.verdicts);
	free(selecting.new_index);
	free(selecting.thread_stays);
	free(selecting.process);
	free(selecting.times);
	return result;
}
