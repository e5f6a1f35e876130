/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles for pprof and for servers that store such: a folder of six files.
 *
 *   cpu.pprof      time on CPUs, where samples say; how many samples
 *   wall.pprof     all time of all threads, by state
 *   block.pprof    waits, at the stacks that waited
 *   mutex.pprof    waits for locks, at the stacks that held them meanwhile
 *   threads.pprof  threads that live at the end, where they are then
 *   wait.pprof     waits and calls that are not over at the end: so long each has lasted
 *
 * The sums are those of the reports, to the nanosecond. A wait that --from or --to cuts has only
 * its part within them, so that the profiles of one period after the other add up.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "exporters.h"
#include "format.h"
#include "measure/locks.h"
#include "pprof_parts.h"
#include "recording/programs.h"
#include "recording/samples.h"
#include "stacksums.h"

static const struct profile_key keys[PPROF_LABELS] = {
	[PPROF_THREAD_ID] = { "thread id", PROFILE_NUMBERS },
	[PPROF_THREAD_NAME] = { "thread name", PROFILE_TEXTS },
	[PPROF_PROCESS_ID] = { "process id", PROFILE_NUMBERS },
	[PPROF_PROCESS] = { "process", PROFILE_TEXTS },
	[PPROF_STATE] = { "state", PROFILE_TEXTS },
	[PPROF_IDLE] = { "idle", PROFILE_TEXTS },
	[PPROF_REASON] = { "reason", PROFILE_TEXTS },
	[PPROF_LOCK] = { "lock", PROFILE_TEXTS },
	[PPROF_RESOURCE] = { "resource", PROFILE_TEXTS },
	[PPROF_CLASS] = { "class", PROFILE_TEXTS },
	[PPROF_HOLDER] = { "holder", PROFILE_TEXTS },
	[PPROF_REQUEST_KIND] = { "request kind", PROFILE_TEXTS },
	[PPROF_ENDPOINT] = { "endpoint", PROFILE_TEXTS },
	[PPROF_TRACE_ID] = { "trace_id", PROFILE_TEXTS },
	[PPROF_SPAN_ID] = { "span_id", PROFILE_TEXTS },
	/* As Datadog has the two. */
	[PPROF_SPAN_NUMBER] = { "span id", PROFILE_DIGITS },
	[PPROF_ROOT_SPAN_NUMBER] = { "local root span id", PROFILE_DIGITS },
	[PPROF_TRACE_ENDPOINT] = { "trace endpoint", PROFILE_TEXTS },
};

#define NANOSECONDS "nanoseconds"
#define LABELLED    .keys = keys, .key_count = PPROF_LABELS

static const struct {
	const char *name;
	struct profile_shape shape;
} files[PPROF_FILES] = {
	[PPROF_CPU] = { "cpu.pprof",
			{ { { "samples", "count" }, { "cpu", NANOSECONDS } }, 2, 1, LABELLED } },
	[PPROF_WALL] = { "wall.pprof",
			 { { { "wall", NANOSECONDS },
			     { "running", NANOSECONDS },
			     { "queued", NANOSECONDS },
			     { "blocked", NANOSECONDS },
			     { "idle", NANOSECONDS } },
			   5,
			   0,
			   LABELLED } },
	[PPROF_BLOCK] = { "block.pprof",
			  { { { "contentions", "count" }, { "delay", NANOSECONDS } },
			    2,
			    1,
			    LABELLED } },
	[PPROF_MUTEX] = { "mutex.pprof",
			  { { { "contentions", "count" }, { "delay", NANOSECONDS } },
			    2,
			    1,
			    LABELLED } },
	[PPROF_THREADS] = { "threads.pprof", { { { "threads", "count" } }, 1, 0, LABELLED } },
	[PPROF_WAIT] = { "wait.pprof", { { { "waitduration", NANOSECONDS } }, 1, 0, LABELLED } },
};

/* --- Samples and labels --- */

struct pprof_sample pprof_sample(struct pprof *pprof, enum pprof_file file, uint32_t stack)
{
	return (struct pprof_sample){ .profile = pprof->profiles[file], .stack = stack };
}

void pprof_add(const struct pprof_sample *sample, const uint64_t *values)
{
	profile_add(sample->profile, sample->stack, sample->leaf, sample->labels, values);
}

void pprof_label(struct pprof_sample *sample, enum pprof_label label, const char *text)
{
	sample->labels[label] = profile_text(sample->profile, text);
}

static void label_string(struct pprof_sample *sample, enum pprof_label label, uint32_t string)
{
	sample->labels[label] = profile_string(sample->profile, string);
}

void pprof_label_thread(struct pprof *pprof, struct pprof_sample *sample, uint32_t thread)
{
	const struct recording *recording = pprof->recording;
	if (thread == NO_INDEX)
		return;
	const struct rec_process *process =
		&recording->processes[recording->threads[thread].process];
	sample->labels[PPROF_THREAD_ID] = recording->threads[thread].tid;
	sample->labels[PPROF_PROCESS_ID] = process->pid;
	pprof_label(sample, PPROF_THREAD_NAME, walk_thread_name(&pprof->walk, thread));
	pprof_label(sample, PPROF_PROCESS,
		    program_called(recording, recording->threads[thread].process));
}

void pprof_label_class(struct pprof *pprof, struct pprof_sample *sample, uint32_t class)
{
	if (class != NO_INDEX)
		pprof_label(sample, PPROF_CLASS, facts_class_name(pprof->analysis, class));
}

void pprof_label_request(struct pprof *pprof, struct pprof_sample *sample,
			 const struct walk_request *request)
{
	if (!request)
		return;
	pprof_label(sample, PPROF_REQUEST_KIND, facts_request_source(request->source));
	pprof_label(sample, PPROF_ENDPOINT, facts_class_name(pprof->analysis, request->class));
}

void pprof_label_ids(struct pprof *pprof, struct pprof_sample *sample, uint32_t thread,
		     uint64_t at_ns, const struct walk_request *request)
{
	struct id_label label;
	if (!id_labels_at(&pprof->ids, thread, at_ns, &label))
		return;
	pprof_label(sample, PPROF_TRACE_ID, label.trace);
	pprof_label(sample, PPROF_SPAN_ID, label.span);
	pprof_label(sample, PPROF_SPAN_NUMBER, label.span);
	pprof_label(sample, PPROF_ROOT_SPAN_NUMBER, label.root);
	if (!request)
		return;
	uint32_t kind = pprof->walk.requests->requests[request->request].kind;
	pprof_label(sample, PPROF_TRACE_ENDPOINT,
		    kind ? pprof->recording->strings[kind]
			 : facts_class_name(pprof->analysis, request->class));
}

/* The text of a last frame, made once for all slices that have it; NULL = none. */
static const char *leaf_text(struct pprof *pprof, enum walk_state state, uint32_t cause,
			     uint32_t name, uint32_t stack)
{
	uint32_t number = stack_leaf_number(state, cause);
	size_t known = pprof->leaves.count;
	if (state == WALK_RUNNING && stack)
		return NULL;
	uint32_t leaf = addresses_add(&pprof->leaves, number, name);
	if (leaf == known) {
		pprof->leaf_texts = memory_grow(pprof->leaf_texts, &pprof->leaf_room, known + 1,
						sizeof(*pprof->leaf_texts));
		pprof->leaf_texts[leaf] = stack_leaf(&pprof->walk, number, name, stack);
	}
	return pprof->leaf_texts[leaf];
}

void pprof_label_state(struct pprof *pprof, struct pprof_sample *sample, enum walk_state state,
		       uint32_t cause, uint32_t name)
{
	const char *leaf = leaf_text(pprof, state, cause, name, sample->stack);
	bool is_wait = cause != NO_INDEX && cause < pprof->recording->reasons.count;
	sample->leaf = leaf ? profile_text(sample->profile, leaf) : 0;
	pprof_label(sample, PPROF_STATE, walk_state_word(state));
	pprof_label(sample, PPROF_IDLE, state == WALK_IDLE ? "true" : "");
	if (cause == NO_INDEX || state == WALK_RUNNING)
		return;
	pprof_label(sample, PPROF_REASON, thread_cause_word(pprof->recording, cause));
	label_string(sample,
		     is_wait && lock_is_contention((uint16_t)cause) ? PPROF_LOCK : PPROF_RESOURCE,
		     name);
}

/* --- Slices of threads --- */

/* One thread's samples, as far as they have been counted. */
struct counting {
	const struct rec_sample *samples;
	size_t count, next;
};

/* Those with stacks that were taken by then. */
static uint64_t count_until(struct counting *counting, uint64_t until_ns)
{
	uint64_t count = 0;
	for (; counting->next < counting->count &&
	       counting->samples[counting->next].at_ns <= until_ns;
	     counting->next++)
		count += counting->samples[counting->next].stack != 0;
	return count;
}

static void add_part(struct pprof *pprof, const struct walk_slice *slice, uint64_t from_ns,
		     uint64_t to_ns, const struct walk_request *request, uint64_t samples)
{
	static const uint32_t value_of[WALK_STATES] = {
		[WALK_RUNNING] = 1,
		[WALK_QUEUED] = 2,
		[WALK_BLOCKED] = 3,
		[WALK_IDLE] = 4,
	};
	uint64_t values[PROFILE_TYPES_MAX] = { 0 };
	for (int file = PPROF_CPU; file <= PPROF_WALL; file++) {
		if (file == PPROF_CPU && slice->state != WALK_RUNNING && samples == 0)
			continue;
		struct pprof_sample sample =
			pprof_sample(pprof, (enum pprof_file)file, slice->stack);
		pprof_label_thread(pprof, &sample, slice->thread);
		pprof_label_class(pprof, &sample, slice->class);
		pprof_label_request(pprof, &sample, request);
		pprof_label_ids(pprof, &sample, slice->thread, from_ns, request);
		pprof_label_state(pprof, &sample, slice->state, slice->cause, slice->name);
		if (file == PPROF_CPU) {
			values[0] = samples;
			values[1] = slice->state == WALK_RUNNING ? to_ns - from_ns : 0;
		} else {
			values[1] = 0;
			values[value_of[slice->state]] = to_ns - from_ns;
			values[0] = to_ns - from_ns; /* the unexplained has no other value */
		}
		pprof_add(&sample, values);
	}
}

/* A slice in parts, by the requests and spans that its thread works for. */
static void add_slice(struct pprof *pprof, const struct walk_slice *slice,
		      struct counting *counting)
{
	for (uint64_t at_ns = slice->start_ns, until_ns; at_ns < slice->end_ns; at_ns = until_ns) {
		const struct request_span *span =
			request_spans_after(&pprof->spans, slice->thread, at_ns);
		const struct walk_request *request = NULL;
		until_ns = slice->end_ns;
		if (span && span->start_ns <= at_ns) {
			request = &pprof->spans.requests[span->request];
			until_ns = span->end_ns < until_ns ? span->end_ns : until_ns;
		} else if (span && span->start_ns < until_ns) {
			until_ns = span->start_ns;
		}
		uint64_t change_ns = ids_change_after(pprof->recording, slice->thread, at_ns);
		until_ns = change_ns < until_ns ? change_ns : until_ns;
		add_part(pprof, slice, at_ns, until_ns, request, count_until(counting, until_ns));
	}
}

/* Whether an op had not ended, or goes on after --to. */
static bool is_open(const struct pprof *pprof, uint32_t op)
{
	const struct recording *recording = pprof->recording;
	if (op == NO_INDEX)
		return false;
	if (recording->extras && recording->extras[op].open)
		return true;
	return pprof->analysis->options->to_ns != UINT64_MAX &&
	       recording->ops[op].end_ns >= pprof->end_ns;
}

/* The wait or call that a thread is in at its end; false: none that has not ended. */
static bool find_open(const struct pprof *pprof, const struct walk_slice *last, uint64_t *since_ns)
{
	const struct recording *recording = pprof->recording;
	if (last->wait != NO_INDEX) {
		const struct rec_wait *wait = &recording->waits[last->wait];
		*since_ns = wait->start_ns;
		return wait->open || (pprof->analysis->options->to_ns != UINT64_MAX &&
				      wait->end_ns >= pprof->end_ns);
	}
	*since_ns = last->op != NO_INDEX ? recording->ops[last->op].start_ns : 0;
	return is_open(pprof, last->op);
}

static uint64_t begin_of(const struct recording *recording, uint32_t process)
{
	uint32_t op = recording->processes[process].op;
	return op == NO_INDEX ? 0 : recording->ops[op].start_ns;
}

/* Which process has a number last: by exec, one may have had it before. */
static void find_last(struct pprof *pprof)
{
	const struct recording *recording = pprof->recording;
	size_t room = 0;
	for (uint32_t i = 0; i < recording->process_count; i++) {
		const struct rec_process *process = &recording->processes[i];
		size_t known = pprof->pids.count;
		uint32_t pid = addresses_add(&pprof->pids, process->host, process->pid);
		if (pid == known) {
			pprof->last_of_pid = memory_grow(pprof->last_of_pid, &room, known + 1,
							 sizeof(*pprof->last_of_pid));
			pprof->last_of_pid[pid] = i;
		}
		uint32_t *last = &pprof->last_of_pid[pid];
		if (begin_of(recording, i) >= begin_of(recording, *last))
			*last = i;
	}
}

static bool is_replaced(const struct pprof *pprof, uint32_t thread)
{
	uint32_t index = pprof->recording->threads[thread].process;
	const struct rec_process *process = &pprof->recording->processes[index];
	return pprof->last_of_pid[addresses_find(&pprof->pids, process->host, process->pid)] !=
	       index;
}

static void add_at_end(struct pprof *pprof, const struct walk_slice *last, enum pprof_file file,
		       uint64_t value)
{
	struct pprof_sample sample = pprof_sample(pprof, file, last->stack);
	const struct walk_request *request =
		request_spans_at(&pprof->spans, last->thread, last->end_ns - 1);
	pprof_label_thread(pprof, &sample, last->thread);
	pprof_label_class(pprof, &sample, last->class);
	pprof_label_request(pprof, &sample, request);
	pprof_label_ids(pprof, &sample, last->thread, last->end_ns - 1, request);
	pprof_label_state(pprof, &sample, last->state, last->cause, last->name);
	if (last->holder != NO_INDEX)
		pprof_label(&sample, PPROF_HOLDER, walk_thread_name(&pprof->walk, last->holder));
	pprof_add(&sample, &value);
}

static void add_thread(struct pprof *pprof, uint32_t thread)
{
	struct walk_slice slice, last = { .start_ns = 0 };
	struct counting counting = { .next = 0 };
	uint64_t since_ns;
	counting.samples = samples_of_thread(pprof->recording, thread, &counting.count);
	for (walk_thread(&pprof->walk, thread); walk_next(&pprof->walk, &slice); last = slice)
		add_slice(pprof, &slice, &counting);
	if (last.end_ns == 0)
		return;
	bool is_blocked = find_open(pprof, &last, &since_ns);
	if (is_blocked)
		add_at_end(pprof, &last, PPROF_WAIT, last.end_ns - since_ns);
	if (!is_replaced(pprof, thread) &&
	    (is_blocked || is_open(pprof, pprof->recording->threads[thread].op)))
		add_at_end(pprof, &last, PPROF_THREADS, 1);
}

/* --- The files --- */

struct profile_facts pprof_facts(const struct pprof *pprof)
{
	const struct recording *recording = pprof->recording;
	uint64_t start_ns = UINT64_MAX;
	for (size_t i = 0; i < recording->op_count; i++)
		if (recording->ops[i].start_ns < start_ns)
			start_ns = recording->ops[i].start_ns;
	return (struct profile_facts){
		.begin_unix_ns = recording->epoch_unix_ns + (recording->op_count ? start_ns : 0),
		.duration_ns = pprof->analysis->span_ns,
	};
}

enum { COMMENTS_MAX = 4, COMMENT_BYTES = 200 };

static size_t write_comments(const struct pprof *pprof, char comments[][COMMENT_BYTES])
{
	const struct analysis *analysis = pprof->analysis;
	size_t count = 0;
	double threads_s = 0;
	for (uint32_t i = 0; i < analysis->threads.count; i++)
		threads_s += (double)analysis->threads.rows[i].wall_ns / 1e9;
	snprintf(comments[count++], COMMENT_BYTES, "wcprof %s; times are exact, not sampled",
		 WCPROF_VERSION);
	snprintf(comments[count++], COMMENT_BYTES,
		 "%" PRIu32 " threads lived for %.3f s in %.3f s: shares of more than 100%% are of "
		 "several threads; -tagignore=idle leaves out time without work",
		 analysis->threads.count, threads_s, (double)analysis->span_ns / 1e9);
	if (pprof->recording->dropped_events)
		snprintf(comments[count++], COMMENT_BYTES,
			 "%" PRIu64 " events were not recorded for want of room: time is missing",
			 pprof->recording->dropped_events);
	if (pprof->ids.left_out)
		snprintf(comments[count++], COMMENT_BYTES,
			 "trace_id and span_id are of the longest traces, of %d spans at most: %zu "
			 "traces have none",
			 ID_LABELS_MAX, pprof->ids.left_out);
	return count;
}

static void write_files(const struct pprof *pprof, struct export *export)
{
	char texts[COMMENTS_MAX][COMMENT_BYTES];
	const char *comments[COMMENTS_MAX];
	struct profile_facts facts = pprof_facts(pprof);
	facts.comments = comments;
	facts.comment_count = write_comments(pprof, texts);
	for (size_t i = 0; i < facts.comment_count; i++)
		comments[i] = texts[i];
	for (size_t i = 0; i < PPROF_FILES; i++) {
		FILE *file = export_file_in(export, files[i].name);
		if (!file)
			return;
		profile_write(pprof->profiles[i], file, &facts);
	}
}

void pprof_begin(struct pprof *pprof, const struct analysis *analysis)
{
	const struct recording *recording = analysis->recording;
	*pprof = (struct pprof){ .analysis = analysis, .recording = recording };
	for (size_t i = 0; i < recording->op_count; i++)
		if (recording->ops[i].end_ns > pprof->end_ns)
			pprof->end_ns = recording->ops[i].end_ns;
	for (size_t i = 0; i < PPROF_FILES; i++)
		pprof->profiles[i] =
			profile_new(recording, analysis->labels ? &analysis->labels->frames : NULL,
				    &files[i].shape);
	find_last(pprof);
	walk_begin(&pprof->walk, analysis);
	request_spans_build(&pprof->spans, &pprof->walk);
	id_labels_build(&pprof->ids, recording,
			pprof->walk.requests ? &pprof->walk.requests->traces : NULL);
	for (uint32_t thread = 0; thread < walk_thread_count(&pprof->walk); thread++)
		add_thread(pprof, thread);
	pprof_add_waits(pprof);
	pprof_add_holders(pprof);
}

void pprof_end(struct pprof *pprof)
{
	for (size_t i = 0; i < PPROF_FILES; i++)
		profile_free(pprof->profiles[i]);
	for (size_t i = 0; i < pprof->leaves.count; i++)
		free(pprof->leaf_texts[i]);
	free(pprof->leaf_texts);
	addresses_free(&pprof->leaves);
	addresses_free(&pprof->pids);
	free(pprof->last_of_pid);
	id_labels_free(&pprof->ids);
	request_spans_free(&pprof->spans);
	walk_end(&pprof->walk);
}

void export_pprof(struct export *export)
{
	struct pprof pprof;
	pprof_begin(&pprof, export->analysis);
	write_files(&pprof, export);
	pprof_end(&pprof);
}
