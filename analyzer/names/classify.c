/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classes in three steps: threads, locks, and the calls that come from somewhere.
 *
 * A lock is an address in a process. A lock that lies in a module has a symbol. Locks on the heap
 * or a stack are of one kind if the same frame of the program last initialised them before their
 * first use. Without one, the frame of the earliest hold or wait counts. A kind is a class, and is
 * called after the site at which it is waited for most (lockuses.h). While locks are collected, the
 * lock's number takes the place of the name in the answer; a second pass puts the names there.
 *
 * One thread. Must leave dumps alone that have neither threads nor stacks: their classes are their
 * names.
 */
#include "classify.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "format.h"
#include "lockuses.h"
#include "recording/addresses.h"
#include "recording/intern.h"
#include "recording/words.h"
#include "threadnames.h"

enum { TEXT_BYTES_MAX = 2048 }; /* of a class's name; what is longer is cut off */

struct lock {
	uint64_t earliest_ns; /* of the hold or wait that `stack` is from */
	uint32_t stack;       /* 0 = no hold or wait of it has one */
	uint64_t made_ns;     /* when `made_stack` initialised it */
	uint32_t made_stack;  /* 0 = not known */
	uint32_t name;        /* string id, NO_INDEX = keep what was recorded */
	bool has_symbol;      /* which is its name */
};

/* The class of a call from a stack; nearly all stacks lead to one call only. */
struct stack_class {
	uint32_t call;     /* string id */
	uint32_t name;     /* string id; 0 = none made yet */
	bool is_anonymous; /* no frame of the program's own has a name; known once `is_looked_at` */
	bool is_looked_at;
};

struct classifier {
	struct recording *recording;
	struct symbols *symbols;
	struct callers *callers;
	uint32_t *op_name;
	uint32_t *wait_name;
	struct addresses addresses;
	struct lock *locks; /* by index in addresses */
	size_t lock_room;
	uint32_t *op_lock; /* NO_INDEX = none */
	uint32_t *wait_lock;
	uint32_t *thread_name; /* string id per thread, 0 = not known */
	struct stack_class *stack_classes;
};

static uint32_t intern(struct classifier *classifier, const char *text)
{
	return recording_intern(classifier->recording, text);
}

static bool is_lock_reason(uint16_t reason)
{
	switch (reason) {
	case REASON_MUTEX:
	case REASON_RWLOCK_READ:
	case REASON_RWLOCK_WRITE:
	case REASON_COND:
	case REASON_SEM:
	case REASON_BARRIER:
	case REASON_ONCE:
	case REASON_FUTEX:
		return true;
	default:
		return false;
	}
}

static uint32_t process_of(const struct classifier *classifier, uint32_t thread)
{
	return thread == NO_INDEX ? NO_INDEX : classifier->recording->threads[thread].process;
}

static bool is_nameless(struct caller caller)
{
	return caller.place && !caller.place->frames[caller.frame].function;
}

/* Notes that the lock at `address` was used with this stack. Its number, or NO_INDEX. */
static uint32_t note_lock(struct classifier *classifier, uint32_t thread, uint64_t address,
			  uint64_t start_ns, uint32_t stack)
{
	uint32_t process = process_of(classifier, thread);
	size_t known = classifier->addresses.count;
	struct lock *lock;
	uint32_t index;

	if (process == NO_INDEX || !address)
		return NO_INDEX;
	index = addresses_add(&classifier->addresses, process, address);
	classifier->locks = memory_grow(classifier->locks, &classifier->lock_room,
					(size_t)index + 1, sizeof(*classifier->locks));
	lock = &classifier->locks[index];
	if (index == known)
		*lock = (struct lock){ .name = NO_INDEX, .earliest_ns = start_ns };
	if (stack && (!lock->stack || start_ns < lock->earliest_ns)) {
		lock->stack = stack;
		lock->earliest_ns = start_ns;
	}
	return index;
}

static void collect_locks(struct classifier *classifier)
{
	const struct recording *recording = classifier->recording;

	for (size_t i = 0; i < recording->op_count; i++) {
		const struct rec_op *op = &recording->ops[i];

		classifier->op_name[i] = op->name;
		classifier->op_lock[i] = NO_INDEX;
		if (op->kind == KIND_HOLD && recording->extras)
			classifier->op_lock[i] =
				note_lock(classifier, op->thread, recording->extras[i].address,
					  op->start_ns, recording->extras[i].stack);
	}
	for (size_t i = 0; i < recording->wait_count; i++) {
		const struct rec_wait *wait = &recording->waits[i];

		classifier->wait_name[i] = wait->ident;
		classifier->wait_lock[i] = NO_INDEX;
		if (is_lock_reason(wait->reason))
			classifier->wait_lock[i] =
				note_lock(classifier, wait->thread, wait->address, wait->start_ns,
					  wait->stack);
	}
}

/* Memory is used again: what counts is who initialised the lock that was then waited for. */
static void collect_makers(struct classifier *classifier)
{
	const struct recording *recording = classifier->recording;

	for (size_t i = 0; i < recording->link_count; i++) {
		const struct rec_link *link = &recording->links[i];
		uint32_t index = NO_INDEX;
		struct lock *lock;

		if (link->kind == LINK_INIT && link->stack && link->thread != NO_INDEX)
			index = addresses_find(&classifier->addresses,
					       process_of(classifier, link->thread), link->address);
		if (index == NO_INDEX)
			continue;
		lock = &classifier->locks[index];
		if (link->at_ns > lock->earliest_ns ||
		    (lock->made_stack && link->at_ns < lock->made_ns))
			continue;
		lock->made_stack = link->stack;
		lock->made_ns = link->at_ns;
	}
}

/* Locks that nobody but an interpreter had to do with are called after what it did itself. */
static void put_site(struct classifier *classifier, uint32_t stack, char *text, size_t text_bytes)
{
	struct caller caller = callers_innermost(classifier->callers, stack);

	if (!caller.place)
		caller = callers_interpreter(classifier->callers, stack);
	callers_site_text(caller, text, text_bytes);
}

/* Of a lock without a symbol the name is that of its kind. */
static uint32_t lock_name(struct classifier *classifier, const struct address_key *key,
			  struct lock *lock)
{
	uint32_t stack = lock->made_stack ? lock->made_stack : lock->stack;
	char text[TEXT_BYTES_MAX];

	if (rec_is_file_lock(key->address))
		return NO_INDEX;
	text[0] = '\0';
	lock->has_symbol = key->process != NO_INDEX &&
			   symbols_object_text(classifier->symbols, key->process, key->address,
					       lock->earliest_ns, text, sizeof(text));
	if (!lock->has_symbol && stack)
		put_site(classifier, stack, text, sizeof(text));
	return text[0] ? intern(classifier, text) : NO_INDEX;
}

/* The kind of a lock without a symbol, NO_INDEX = it has one, or none is known. */
static uint32_t kind_of(const struct classifier *classifier, uint32_t lock)
{
	return lock == NO_INDEX || classifier->locks[lock].has_symbol
		       ? NO_INDEX
		       : classifier->locks[lock].name;
}

static void find_uses(struct classifier *classifier, struct lock_uses *uses)
{
	struct recording *recording = classifier->recording;

	for (size_t i = 0; recording->extras && i < recording->op_count; i++) {
		const struct rec_op *op = &recording->ops[i];
		uint32_t kind = kind_of(classifier, classifier->op_lock[i]);

		if (kind != NO_INDEX)
			lock_uses_add(uses, recording, classifier->callers, kind,
				      recording->extras[i].stack, 0, op->end_ns - op->start_ns);
	}
	for (size_t i = 0; i < recording->wait_count; i++) {
		const struct rec_wait *wait = &recording->waits[i];
		uint32_t kind = kind_of(classifier, classifier->wait_lock[i]);

		if (kind != NO_INDEX)
			lock_uses_add(uses, recording, classifier->callers, kind, wait->stack,
				      wait->end_ns - wait->start_ns, 0);
	}
	lock_uses_count(uses);
}

/* A site that two kinds have in common tells neither. */
static void name_by_use(struct classifier *classifier)
{
	struct lock_uses uses = { 0 };

	find_uses(classifier, &uses);
	uint32_t *kind_at = memory_new(classifier->recording->string_count, sizeof(*kind_at));
	for (uint32_t i = 0; i < classifier->addresses.count; i++) {
		uint32_t kind = kind_of(classifier, i);
		uint32_t site = kind == NO_INDEX ? 0 : lock_uses_most(&uses, kind);

		if (site)
			kind_at[site] = kind_at[site] && kind_at[site] != kind ? NO_INDEX : kind;
	}
	for (uint32_t i = 0; i < classifier->addresses.count; i++) {
		uint32_t kind = kind_of(classifier, i);
		uint32_t site = kind == NO_INDEX ? 0 : lock_uses_most(&uses, kind);

		if (site && kind_at[site] == kind)
			classifier->locks[i].name = site;
	}
	free(kind_at);
	lock_uses_free(&uses);
}

static void name_locks(struct classifier *classifier)
{
	const struct recording *recording = classifier->recording;

	for (size_t i = 0; i < classifier->addresses.count; i++)
		classifier->locks[i].name = lock_name(classifier, &classifier->addresses.keys[i],
						      &classifier->locks[i]);
	name_by_use(classifier);
	for (size_t i = 0; i < recording->op_count; i++) {
		uint32_t lock = classifier->op_lock[i];

		if (lock != NO_INDEX && classifier->locks[lock].name != NO_INDEX)
			classifier->op_name[i] = classifier->locks[lock].name;
	}
	for (size_t i = 0; i < recording->wait_count; i++) {
		uint32_t lock = classifier->wait_lock[i];

		if (lock != NO_INDEX && classifier->locks[lock].name != NO_INDEX)
			classifier->wait_name[i] = classifier->locks[lock].name;
	}
}

/* "WHO/CALL"; just the call when nobody is known. */
static uint32_t call_name(struct classifier *classifier, const char *who, uint32_t call)
{
	char text[TEXT_BYTES_MAX];

	if (!who[0])
		return call;
	snprintf(text, sizeof(text), "%.1900s/%.100s", who, classifier->recording->strings[call]);
	return intern(classifier, text);
}

/*
 * The text for the caller. A function without a name is called after the next one outwards that has
 * one: "function..".
 */
static const char *who_text(struct classifier *classifier, struct caller caller, uint32_t stack,
			    char text[TEXT_BYTES_MAX])
{
	struct caller named = { .place = NULL };

	if (is_nameless(caller))
		named = callers_named(classifier->callers, stack);
	callers_function_text(named.place ? named : caller, text, TEXT_BYTES_MAX - 2);
	return named.place ? strcat(text, "..") : text;
}

static bool is_anonymous(struct classifier *classifier, uint32_t stack, struct caller caller)
{
	struct stack_class *known = &classifier->stack_classes[stack];

	if (!known->is_looked_at)
		known->is_anonymous =
			is_nameless(caller) && !callers_named(classifier->callers, stack).place;
	known->is_looked_at = true;
	return known->is_anonymous;
}

/* Whether a thread's name says more than the functions of its stack. */
static bool is_thread_known(struct classifier *classifier, uint32_t thread, uint32_t stack,
			    struct caller caller)
{
	const struct recording *recording = classifier->recording;

	if (thread == NO_INDEX || !classifier->thread_name[thread])
		return false;
	if (!caller.place)
		return true;
	return is_anonymous(classifier, stack, caller) &&
	       (thread_is_main(recording, &recording->threads[thread]) ||
		thread_names_itself(recording, &recording->threads[thread]));
}

/* "thread/call" for calls from no function of the program's; "thread../call" for a nameless one,
 * without the number that a thread of many has. */
static uint32_t thread_call(struct classifier *classifier, uint32_t thread, uint32_t call,
			    bool has_no_function)
{
	const struct recording *recording = classifier->recording;
	const char *name = recording->strings[classifier->thread_name[thread]];
	size_t bytes = strlen(name);
	char text[TEXT_BYTES_MAX];

	if (has_no_function)
		return call_name(classifier, name, call);
	while (bytes > 1 && name[bytes - 1] >= '0' && name[bytes - 1] <= '9')
		bytes--;
	snprintf(text, sizeof(text), "%.*s..", (int)(bytes < 100 ? bytes : 100), name);
	return call_name(classifier, text, call);
}

static uint32_t call_class(struct classifier *classifier, uint32_t stack, uint32_t call,
			   uint32_t thread)
{
	struct stack_class *known = &classifier->stack_classes[stack];
	struct caller caller;
	uint32_t name;
	char text[TEXT_BYTES_MAX];

	if (known->name && known->call == call)
		return known->name;
	caller = callers_innermost(classifier->callers, stack);
	if (is_thread_known(classifier, thread, stack, caller))
		return thread_call(classifier, thread, call, !caller.place);
	name = call_name(classifier, who_text(classifier, caller, stack, text), call);
	if (!is_anonymous(classifier, stack, caller)) { /* else another thread has another name */
		known->call = call;
		known->name = name;
	}
	return name;
}

static void name_calls(struct classifier *classifier)
{
	const struct recording *recording = classifier->recording;

	if (!recording->extras)
		return;
	for (size_t i = 0; i < recording->op_count; i++) {
		uint32_t stack = recording->extras[i].stack;

		if (words_is_call(recording->ops[i].kind) && stack)
			classifier->op_name[i] =
				call_class(classifier, stack, recording->ops[i].name,
					   recording->ops[i].thread);
	}
}

/* String id of the program's name. */
static uint32_t program_name(const struct recording *recording, uint32_t process)
{
	uint32_t op = recording->processes[process].op;

	return op == NO_INDEX ? 0 : recording->ops[op].name;
}

/* Each program has a main of its own. */
static uint32_t thread_op_name(struct classifier *classifier, uint32_t index)
{
	const struct recording *recording = classifier->recording;
	const struct rec_thread *thread = &recording->threads[index];
	uint32_t program = program_name(recording, thread->process);
	char text[TEXT_BYTES_MAX];

	for (uint32_t p = 0; program && p < recording->process_count; p++) {
		uint32_t other = program_name(recording, p);

		if (!other || other == program || !thread_is_main(recording, thread))
			continue;
		snprintf(text, sizeof(text), "main (%.1000s)", recording->strings[program]);
		return intern(classifier, text);
	}
	return classifier->thread_name[index];
}

static void name_threads(struct classifier *classifier)
{
	const struct recording *recording = classifier->recording;

	classifier->thread_name = thread_names_find(classifier->recording, classifier->callers);
	for (uint32_t i = 0; i < recording->thread_count; i++) {
		uint32_t op = recording->threads[i].op;

		if (op != NO_INDEX && classifier->thread_name[i])
			classifier->op_name[op] = thread_op_name(classifier, i);
	}
}

/* Waits that are for an op and not for a resource are called after that op. */
static void name_joins(struct classifier *classifier)
{
	const struct recording *recording = classifier->recording;

	for (size_t i = 0; i < recording->wait_count; i++) {
		const struct rec_wait *wait = &recording->waits[i];

		if (wait->reason == REASON_JOIN && wait->target != NO_INDEX)
			classifier->wait_name[i] = classifier->op_name[wait->target];
	}
}

void classify(struct recording *recording, struct symbols *symbols, struct callers *callers,
	      uint32_t *op_name, uint32_t *wait_name)
{
	struct classifier classifier = {
		.recording = recording,
		.symbols = symbols,
		.callers = callers,
		.op_name = op_name,
		.wait_name = wait_name,
		.op_lock = memory_new(recording->op_count, sizeof(uint32_t)),
		.wait_lock = memory_new(recording->wait_count, sizeof(uint32_t)),
		.stack_classes = memory_new(recording->stack_count, sizeof(struct stack_class)),
	};

	collect_locks(&classifier);
	if (recording->thread_count) {
		collect_makers(&classifier);
		name_locks(&classifier);
		name_threads(&classifier);
		name_calls(&classifier);
		name_joins(&classifier);
	}
	addresses_free(&classifier.addresses);
	free(classifier.locks);
	free(classifier.op_lock);
	free(classifier.wait_lock);
	free(classifier.thread_name);
	free(classifier.stack_classes);
}

static void name_site(struct recording *recording, struct callers *callers, uint32_t stack,
		      uint32_t *stack_site)
{
	char text[TEXT_BYTES_MAX];
	struct caller caller;

	if (!stack || stack_site[stack])
		return;
	caller = callers_innermost(callers, stack);
	if (caller.place)
		stack_site[stack] =
			recording_intern(recording, symbols_frame_text(caller.place, caller.frame,
								       text, sizeof(text)));
}

void classify_sites(struct recording *recording, struct callers *callers, uint32_t *stack_site)
{
	memset(stack_site, 0, recording->stack_count * sizeof(*stack_site));
	for (size_t i = 0; recording->extras && i < recording->op_count; i++)
		if (recording->ops[i].kind == KIND_HOLD)
			name_site(recording, callers, recording->extras[i].stack, stack_site);
	for (size_t i = 0; i < recording->wait_count; i++)
		name_site(recording, callers, recording->waits[i].stack, stack_site);
}
