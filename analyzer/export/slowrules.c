/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules are keys of the stacks that a class's ops have; slowrules.h has the contract.
 *
 * Ops that the program declares have no stacks, and are known by their names.
 *
 * A stack may lead to ops of several classes, as where one function takes locks that have names of
 * their own. The recorder then slows all of them. Two shares tell: how much of the class's time the
 * rules reach, and how many of the ops that they reach are the class's.
 *
 * Progress is what users wait for: reads of connections that were accepted, else the ops that
 * requests begin with, else the most frequent io. The other candidates follow by number.
 */
#include "slowrules.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/emit.h"
#include "base/memory.h"
#include "format.h"
#include "infer/flows.h"
#include "recording/words.h"
#include "stackkeys.h"

enum {
	KEYS_MAX = 1024,       /* of a class, those with the most time: recorders have limits */
	CANDIDATES_MAX = 8,    /* of progress */
	PEER_WAIT_NS = 100000, /* a read of what is there already takes a tenth of it */
};

/* Of a function's time: less would say nothing of it. */
static const double LEAST_COVERED = 50;

/* A rule is for ops of certain kinds. */
enum slow_word { SLOW_HOLD, SLOW_CALL, SLOW_OP, SLOW_NOTHING };

static const char *const word_names[] = {
	[SLOW_HOLD] = "hold",
	[SLOW_CALL] = "call",
	[SLOW_OP] = "op",
};

static enum slow_word word_of(uint16_t kind)
{
	switch (kind) {
	case KIND_HOLD:
		return SLOW_HOLD;
	case KIND_IO:
	case KIND_SLEEP:
	case KIND_DNS:
		return SLOW_CALL;
	case KIND_OP_USER:
		return SLOW_OP;
	default:
		return SLOW_NOTHING;
	}
}

/* --- Which classes can be slowed -------------------------------------------------------------- */

static bool *mark_classes(const struct slow_rules *rules, const struct slow_subject *subject)
{
	bool *is_marked = memory_new(rules->classes->count, sizeof(*is_marked));

	for (size_t i = 0; i < subject->class_count; i++)
		if (subject->classes[i] < rules->classes->count)
			is_marked[subject->classes[i]] = true;
	return is_marked;
}

static uint64_t length_of(const struct rec_op *op)
{
	return op->end_ns - op->start_ns;
}

/* The recorder knows it by its stack, or by its name. */
static bool has_key(const struct recording *recording, size_t op)
{
	return recording->ops[op].kind == KIND_OP_USER ||
	       (recording->extras && recording->extras[op].stack);
}

/* A call that waited until a peer sent something, or came. */
static bool is_peer_wait(const struct recording *recording, const struct rec_op *op)
{
	const char *call = recording->strings[op->name];
	const char *descriptor = recording->strings[op->ident];

	if (op->kind != KIND_IO || length_of(op) < PEER_WAIT_NS ||
	    strncmp(descriptor, "file ", 5) == 0)
		return false;
	return flow_direction_of(call) == FLOW_READ || strstr(call, "accept") ||
	       strstr(call, "receive") || strstr(call, "rcv");
}

struct class_sums {
	uint64_t ns;
	uint64_t stack_ns; /* of ops with stacks */
	uint64_t peer_ns;
};

static struct class_sums sums_of(const struct slow_rules *rules, const struct slow_subject *subject)
{
	const struct recording *recording = rules->recording;
	bool *is_marked = mark_classes(rules, subject);
	struct class_sums sums = { 0 };

	for (size_t i = 0; i < recording->op_count; i++) {
		const struct rec_op *op = &recording->ops[i];

		if (!is_marked[rules->classes->of_op[i]])
			continue;
		sums.ns += length_of(op);
		sums.stack_ns += has_key(recording, i) ? length_of(op) : 0;
		sums.peer_ns += is_peer_wait(recording, op) ? length_of(op) : 0;
	}
	free(is_marked);
	return sums;
}

static const char *why_not_kind(uint16_t kind)
{
	switch (kind) {
	case KIND_POLL:
		return "waits until there is something to do, which is no work of its own";
	case KIND_PROCESS:
	case KIND_EXEC:
		return "is the time of a process: slow what that process does";
	default:
		return "is of a kind that the recorder does not slow";
	}
}

static bool is_function(const struct slow_rules *rules, const struct slow_subject *subject)
{
	return subject->classes[0] >= rules->classes->count;
}

static const char *why_not_function(const struct slow_rules *rules,
				    const struct slow_subject *subject)
{
	struct slow_ranges ranges;

	if (subject->is_program)
		return "is a program: slow what it does";
	if (subject->has_calls)
		return "waits in calls for a part of its time: slow those calls";
	slow_ranges_build(&ranges, &rules->samples, subject->function);
	bool has_ranges = ranges.count > 0 && ranges.covered_percent > LEAST_COVERED;
	slow_ranges_free(&ranges);
	return has_ranges ? NULL : "runs in code that others run, too: slow what it calls";
}

const char *slow_rules_why_not(const struct slow_rules *rules, const struct slow_subject *subject)
{
	assert(subject->class_count > 0);
	if (is_function(rules, subject))
		return why_not_function(rules, subject);
	uint16_t kind = rules->classes->classes[subject->classes[0]].kind;
	if (kind == KIND_THREAD)
		return NULL;
	if (word_of(kind) == SLOW_NOTHING)
		return why_not_kind(kind);
	const struct class_sums sums = sums_of(rules, subject);
	if (2 * sums.peer_ns > sums.ns)
		return "waits for what a peer sends: slow what the peer does";
	if (2 * sums.stack_ns < sums.ns || sums.stack_ns == 0)
		return "has no call stacks, by which its ops would be known";
	return NULL;
}

/* --- Keys ------------------------------------------------------------------------------------- */

struct tally {
	uint32_t key; /* index */
	uint64_t ns;
	uint64_t ops;       /* of the class */
	uint64_t other_ops; /* of the same kinds, but of another class */
};

/* Most time first; then by key, so that the order is that of every run. */
static int compare_tallies(const void *left, const void *right)
{
	const struct tally *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns < b->ns ? 1 : -1;
	return (a->key > b->key) - (a->key < b->key);
}

/* A tally for each key that ops of the marked classes have. The caller frees them. */
static struct tally *tally_keys(const struct slow_rules *rules, const struct stack_keys *keys,
				const bool *is_marked, size_t *count)
{
	const struct recording *recording = rules->recording;
	struct tally *tallies = memory_new(keys->count, sizeof(*tallies));

	for (size_t i = 0; i < recording->op_count; i++) {
		const struct rec_op *op = &recording->ops[i];
		uint32_t key = stack_keys_of_op(keys, recording, i);

		if (key == NO_INDEX || word_of(op->kind) == SLOW_NOTHING)
			continue;
		struct tally *tally = &tallies[key];
		tally->key = key;
		if (is_marked[rules->classes->of_op[i]]) {
			tally->ns += length_of(op);
			tally->ops++;
		} else {
			tally->other_ops++;
		}
	}
	*count = 0;
	for (size_t i = 0; i < keys->count; i++)
		if (tallies[i].ops > 0)
			tallies[(*count)++] = tallies[i];
	if (*count > 0)
		qsort(tallies, *count, sizeof(*tallies), compare_tallies);
	if (*count > KEYS_MAX)
		*count = KEYS_MAX;
	return tallies;
}

static void put_keys(FILE *file, const struct stack_keys *keys, const uint32_t *indexes,
		     size_t count)
{
	fputs("\"keys\":[", file);
	for (size_t i = 0; i < count; i++)
		fprintf(file, "%s\"%016" PRIx64 "\"", i ? "," : "", keys->keys[indexes[i]]);
	fputc(']', file);
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void put_rules(FILE *file, const struct slow_rules *rules, const struct stack_keys *keys,
		      const struct slow_subject *subject)
{
	uint16_t kind = rules->classes->classes[subject->classes[0]].kind;
	bool *is_marked = mark_classes(rules, subject);
	size_t count;
	struct tally *tallies = tally_keys(rules, keys, is_marked, &count);
	uint32_t *indexes = memory_new(count, sizeof(*indexes));
	uint64_t ns = 0, ops = 0, other_ops = 0;

	for (size_t i = 0; i < count; i++) {
		indexes[i] = tallies[i].key;
		ns += tallies[i].ns;
		ops += tallies[i].ops;
		other_ops += tallies[i].other_ops;
	}
	fprintf(file, "\"covered_percent\":%.2f,\"purity_percent\":%.2f,",
		percent(ns, sums_of(rules, subject).ns), percent(ops, ops + other_ops));
	fprintf(file, "\"rules\":[{\"word\":\"%s\",", word_names[word_of(kind)]);
	put_keys(file, keys, indexes, count);
	fputs("}]", file);
	free(indexes);
	free(tallies);
	free(is_marked);
}

static uint64_t op_count_of(const struct slow_rules *rules, const struct slow_subject *subject)
{
	uint64_t count = 0;

	for (size_t i = 0; i < subject->class_count; i++)
		if (subject->classes[i] < rules->classes->count)
			count += rules->classes->classes[subject->classes[i]].op_count;
	return count;
}

static void put_routines(FILE *file, const struct slow_rules *rules,
			 const struct slow_subject *subject)
{
	bool *is_marked = mark_classes(rules, subject);

	slow_routines_put(file, rules->recording, rules->classes, is_marked);
	free(is_marked);
}

static void put_subject(FILE *file, const struct slow_rules *rules, const struct stack_keys *keys,
			const struct slow_subject *subject)
{
	const char *why_not = slow_rules_why_not(rules, subject);

	fputs("{\"class\":", file);
	emit_json_string(file, subject->name);
	fputs(",\"kind\":", file);
	emit_json_string(file, subject->kind);
	fprintf(file, ",\"self_ns\":%" PRIu64 ",\"ops\":%" PRIu64 ",\"why_not\":", subject->self_ns,
		op_count_of(rules, subject));
	if (why_not) {
		emit_json_string(file, why_not);
		fputs(",\"covered_percent\":0,\"purity_percent\":0,\"rules\":[]}", file);
		return;
	}
	fputs("null,", file);
	if (is_function(rules, subject))
		slow_ranges_put(file, &rules->samples, subject->function);
	else if (rules->classes->classes[subject->classes[0]].kind == KIND_THREAD)
		put_routines(file, rules, subject);
	else
		put_rules(file, rules, keys, subject);
	fputc('}', file);
}

/* --- Progress --------------------------------------------------------------------------------- */

/* A class by what makes it progress. */
struct candidate {
	uint32_t class;
	uint64_t stacked; /* ops with stacks */
	uint64_t accepted;
};

static bool may_be_progress(uint16_t kind)
{
	return word_of(kind) != SLOW_NOTHING || kind == KIND_POLL;
}

static int compare_candidates(const void *left, const void *right)
{
	const struct candidate *a = left, *b = right;

	if (a->stacked != b->stacked)
		return a->stacked < b->stacked ? 1 : -1;
	return (a->class > b->class) - (a->class < b->class);
}

static struct candidate *count_candidates(const struct slow_rules *rules)
{
	const struct recording *recording = rules->recording;
	struct candidate *candidates = memory_new(rules->classes->count, sizeof(*candidates));

	for (uint32_t i = 0; i < rules->classes->count; i++)
		candidates[i].class = i;
	for (size_t i = 0; i < recording->op_count; i++) {
		const struct rec_op *op = &recording->ops[i];
		struct candidate *candidate = &candidates[rules->classes->of_op[i]];

		if (!has_key(recording, i) || !may_be_progress(op->kind))
			continue;
		candidate->stacked++;
		candidate->accepted += op->kind == KIND_IO && recording->extras[i].accepted &&
				       recording->extras[i].amount > 0 &&
				       flow_direction_of(recording->strings[op->name]) == FLOW_READ;
	}
	if (rules->classes->count > 0)
		qsort(candidates, rules->classes->count, sizeof(*candidates), compare_candidates);
	return candidates;
}

/* Where the usual one is among the candidates; they are in order of number. */
static size_t usual_progress(const struct slow_rules *rules, const struct candidate *candidates,
			     const char **source)
{
	size_t most = NO_INDEX, io = NO_INDEX, count = rules->classes->count;

	for (size_t i = 0; i < count; i++)
		if (candidates[i].accepted > 0 &&
		    (most == NO_INDEX || candidates[i].accepted > candidates[most].accepted))
			most = i;
	*source = "accepted";
	for (size_t i = 0; most == NO_INDEX && i < count; i++)
		if (candidates[i].class == rules->request_class && candidates[i].stacked > 0)
			most = i, *source = "request";
	for (size_t i = 0; io == NO_INDEX && i < count; i++)
		if (rules->classes->classes[candidates[i].class].kind == KIND_IO)
			io = i;
	if (most != NO_INDEX)
		return most;
	*source = "calls";
	return io != NO_INDEX && candidates[io].stacked > 0 ? io : 0;
}

static bool is_call_of(const struct recording *recording, size_t op, const char *call)
{
	return words_is_call(recording->ops[op].kind) &&
	       strcmp(recording->strings[recording->ops[op].name], call) == 0;
}

/* One way to count: all stacks that marked classes have, or calls of a name. */
static void put_progress(FILE *file, const struct slow_rules *rules, const struct stack_keys *keys,
			 const bool *is_marked, const char *call)
{
	const struct recording *recording = rules->recording;
	bool *is_wanted = memory_new(keys->count, sizeof(*is_wanted));
	uint32_t *indexes = memory_new(keys->count, sizeof(*indexes));
	size_t key_count = 0;
	uint64_t ops = 0;

	for (size_t i = 0; i < recording->op_count; i++) {
		uint32_t key = stack_keys_of_op(keys, recording, i);

		if (key != NO_INDEX && !is_wanted[key] && key_count < KEYS_MAX &&
		    (is_marked ? is_marked[rules->classes->of_op[i]]
			       : is_call_of(recording, i, call))) {
			is_wanted[key] = true;
			indexes[key_count++] = key;
		}
	}
	for (size_t i = 0; i < recording->op_count; i++) {
		uint32_t key = stack_keys_of_op(keys, recording, i);

		ops += key != NO_INDEX && is_wanted[key];
	}
	fprintf(file, "\"ops\":%" PRIu64 ",", ops);
	put_keys(file, keys, indexes, key_count);
	free(indexes);
	free(is_wanted);
}

static void put_progress_of(FILE *file, const struct slow_rules *rules,
			    const struct stack_keys *keys, const struct slow_subject *subject,
			    const char *source)
{
	bool *is_marked = mark_classes(rules, subject);

	fputs("{\"class\":", file);
	emit_json_string(file, subject->name);
	fputs(",\"kind\":", file);
	emit_json_string(file, subject->kind);
	fprintf(file, ",\"source\":\"%s\",", source);
	put_progress(file, rules, keys, is_marked, NULL);
	fputc('}', file);
	free(is_marked);
}

static void put_usual_progress(FILE *file, const struct slow_rules *rules,
			       const struct stack_keys *keys)
{
	struct candidate *candidates = count_candidates(rules);
	const char *source;
	size_t usual = usual_progress(rules, candidates, &source), put = 0;

	for (size_t i = 0; put < CANDIDATES_MAX && i <= rules->classes->count; i++) {
		/* The usual one comes first. */
		size_t at = i == 0 ? usual : i - 1;

		if (at >= rules->classes->count || (i > 0 && at == usual) ||
		    candidates[at].stacked == 0)
			continue;
		const struct class *class = &rules->classes->classes[candidates[at].class];
		const struct slow_subject subject = {
			.name = rules->recording->strings[class->name],
			.kind = rules->recording->kinds.words[class->kind],
			.classes = &candidates[at].class,
			.class_count = 1,
		};
		fputs(put++ ? "," : "", file);
		put_progress_of(file, rules, keys, &subject, i == 0 ? source : "candidate");
	}
	free(candidates);
}

bool slow_rules_have_call(const struct recording *recording, const char *call)
{
	for (size_t i = 0; i < recording->op_count; i++)
		if (has_key(recording, i) && is_call_of(recording, i, call))
			return true;
	return false;
}

void slow_rules_write(FILE *file, const struct slow_rules *rules)
{
	struct stack_keys keys;

	stack_keys_build(&keys, rules->recording);
	fputs("\"slow_rules\":[", file);
	for (size_t i = 0; i < rules->subject_count; i++) {
		fputs(i ? "," : "", file);
		put_subject(file, rules, &keys, &rules->subjects[i]);
	}
	fputs("],\"progress\":[", file);
	if (rules->progress) {
		put_progress_of(file, rules, &keys, rules->progress, "asked");
	} else if (rules->progress_call) {
		fputs("{\"class\":", file);
		emit_json_string(file, rules->progress_call);
		fputs(",\"kind\":\"call\",\"source\":\"asked\",", file);
		put_progress(file, rules, &keys, NULL, rules->progress_call);
		fputc('}', file);
	} else {
		put_usual_progress(file, rules, &keys);
	}
	fputs("]", file);
	stack_keys_free(&keys);
}
