/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the calls that a call of another thread put an end to; ended.h has the contract.
 *
 * Method. Both calls name one object. It is a stream by its flow, from the thread that closes it
 * to the one that reads. It may be a socket that is shut down, or a pipe with a name. The call that
 * took long and came to nothing is the wait. The last doing to its object before it returned put an
 * end to it: others had the object open until then. It must come right before: within the last
 * tenth, or `last_words`. Else the end was something that is not recorded.
 *
 * A process that had the object and ended later than that closed it last: the script has such ends.
 * So may have a child that was to begin another program, which closes objects, too. Whether it had
 * this one is not recorded. So the call waits for the close of its parent alone. The rest of the
 * call is taken to be the time that the child needs.
 *
 * One thread.
 */
#include "ended.h"

#include "base/assumptions.h"
#include "base/memory.h"
#include "flows_names.h"
#include "format.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Ways to name an object, so that only those meet that can end each other. */
enum { BY_FLOW = 0, BY_SOCKET = 2, BY_OPENING = 4 };

/* A doing that may end calls on its object, or the end of a process that has it: NO_INDEX. */
struct ending {
	uint64_t object;
	uint64_t at_ns;
	uint32_t op;
};

/* A call that came to nothing, or the poll before it, and on what: an object's name each way. */
struct ended {
	uint64_t objects[2]; /* 0 = no more */
	uint32_t waited;
};

/* From its fork on a child has what its parent had open, until it begins another program. */
struct child {
	uint64_t forked_ns;
	uint64_t begun_ns; /* its last program */
	uint32_t parent;   /* process */
	uint32_t client;
};

struct search {
	struct recording *rec;
	struct flow_names names;
	uint64_t *closed_object; /* by ident: what closing it ends, once it was asked for */
	struct ended *ended;
	size_t ended_count;
	size_t ended_capacity;
	uint64_t *wanted; /* objects of these, in order */
	size_t wanted_count;
	struct ending *endings; /* by object, then time; of wanted objects */
	size_t count;
	size_t capacity;
	size_t wait_capacity;
	size_t link_capacity;
	struct child *children;
	size_t child_count;
	bool *is_awaiting; /* by op: it is a wait for something else */
};

static uint64_t object(uint64_t name, uint64_t way)
{
	return name ? name * 8 + way : 0;
}

static int compare_objects(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

/* Of a process that is busy with an object the end comes once. */
static void ending_add(struct search *search, uint64_t object, uint64_t at_ns, uint32_t op)
{
	const struct ending *last = search->count ? &search->endings[search->count - 1] : NULL;

	if (!object || (last && last->object == object && last->at_ns == at_ns) ||
	    !bsearch(&object, search->wanted, search->wanted_count, sizeof(object),
		     compare_objects))
		return;
	search->endings = memory_grow(search->endings, &search->capacity, search->count + 1,
				      sizeof(*search->endings));
	search->endings[search->count++] = (struct ending){ object, at_ns, op };
}

static bool begins_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

/* Copies of the object that others have stay open. */
static bool closes_one(const char *call)
{
	return begins_with(call, "close") || begins_with(call, "fclose") ||
	       begins_with(call, "pclose");
}

static bool is_closing(const char *call)
{
	return closes_one(call) || begins_with(call, "shutdown");
}

static bool is_opening(const char *call, const char *ident)
{
	return begins_with(call, "open") && begins_with(ident, "fifo ");
}

/* --- what ends calls --- */

static uint64_t closed_object(struct search *search, uint32_t ident)
{
	uint64_t *known = &search->closed_object[ident];

	if (!*known)
		*known = object(flow_names_stream(&search->names, ident, true), BY_FLOW) | 1;
	return *known & ~UINT64_C(1);
}

static void call_ends_others(struct search *search, uint32_t index)
{
	const struct rec_op *op = &search->rec->ops[index];
	const char *call = search->rec->strings[op->name], *ident = search->rec->strings[op->ident];

	if (is_closing(call))
		ending_add(search, closed_object(search, op->ident), op->start_ns, index);
	if (begins_with(call, "shutdown"))
		ending_add(search, object(op->ident, BY_SOCKET), op->start_ns, index);
	if (is_opening(call, ident))
		ending_add(search, object(op->ident, BY_OPENING), op->start_ns, index);
}

/* All that it used is closed with it. */
static void process_ends_others(struct search *search, uint32_t thread, uint32_t ident)
{
	const struct recording *rec = search->rec;
	uint32_t op = rec->processes[rec->threads[thread].process].op;

	if (op != NO_INDEX && !rec->extras[op].open)
		ending_add(search, closed_object(search, ident), rec->ops[op].end_ns, NO_INDEX);
}

static bool is_io(const struct recording *rec, uint32_t index)
{
	const struct rec_op *op = &rec->ops[index];

	return op->kind == KIND_IO && op->thread != NO_INDEX && op->ident &&
	       !rec->extras[index].open;
}

static int compare_endings(const void *left, const void *right)
{
	const struct ending *a = left, *b = right;

	if (a->object != b->object)
		return a->object < b->object ? -1 : 1;
	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return (a->op > b->op) - (a->op < b->op);
}

static void endings_collect(struct search *search)
{
	const struct recording *rec = search->rec;

	for (uint32_t i = 0; i < rec->op_count; i++) {
		if (!is_io(rec, i))
			continue;
		call_ends_others(search, i);
		process_ends_others(search, rec->ops[i].thread, rec->ops[i].ident);
	}
	for (size_t i = 0; i < rec->link_count; i++)
		if (rec->links[i].kind == LINK_LEAVE && rec->links[i].thread != NO_INDEX)
			process_ends_others(search, rec->links[i].thread, rec->links[i].ident);
	if (search->count)
		qsort(search->endings, search->count, sizeof(*search->endings), compare_endings);
}

static bool is_start(const struct recording *rec, size_t op)
{
	return rec->ops[op].kind == KIND_EXEC && rec->ops[op].thread != NO_INDEX &&
	       rec->ops[op].ident;
}

static void children_collect(struct search *search)
{
	const struct recording *rec = search->rec;
	uint64_t *begun_ns = memory_new(rec->string_count, sizeof(*begun_ns));

	for (size_t p = 0; p < rec->process_count; p++) {
		uint32_t op = rec->processes[p].op, client = rec->processes[p].client;

		if (op != NO_INDEX && rec->ops[op].start_ns > begun_ns[client])
			begun_ns[client] = rec->ops[op].start_ns;
	}
	search->children = memory_new(rec->op_count, sizeof(*search->children));
	for (size_t i = 0; i < rec->op_count; i++)
		if (is_start(rec, i))
			search->children[search->child_count++] =
				(struct child){ rec->ops[i].start_ns, begun_ns[rec->ops[i].ident],
						rec->threads[rec->ops[i].thread].process,
						rec->ops[i].ident };
	free(begun_ns);
}

/* --- what was ended --- */

/* The objects that a call came to nothing on; none: it did not, or not in such a way. */
static struct ended ended_by(const struct search *search, uint32_t index)
{
	const struct recording *rec = search->rec;
	const struct rec_op *op = &rec->ops[index];
	const char *call = rec->strings[op->name];
	uint64_t by_socket = object(op->ident, BY_SOCKET);
	bool has_failed = op->outcome == OUTCOME_ERROR;
	struct ended ended = { .waited = index };

	if (is_opening(call, rec->strings[op->ident])) {
		ended.objects[0] = has_failed ? 0 : object(op->ident, BY_OPENING);
	} else if (begins_with(call, "accept")) {
		ended.objects[0] = has_failed ? by_socket : 0;
	} else if (flow_direction_of(call) == FLOW_READ && !has_failed &&
		   !rec->extras[index].amount) {
		ended.objects[0] =
			object(flow_names_stream(&search->names, op->ident, false), BY_FLOW);
		ended.objects[ended.objects[0] != 0] = by_socket;
	}
	return ended;
}

static void ended_add(struct search *search, const struct ended *ended)
{
	const struct rec_op *op = &search->rec->ops[ended->waited];

	if (!ended->objects[0] || search->is_awaiting[ended->waited] ||
	    op->end_ns - op->start_ns <= assume.copy)
		return;
	search->ended = memory_grow(search->ended, &search->ended_capacity, search->ended_count + 1,
				    sizeof(*search->ended));
	search->ended[search->ended_count++] = *ended;
}

/* --- polls: the next call of the thread comes to nothing at once --- */

struct call {
	uint64_t start_ns;
	uint32_t op;
	uint32_t thread;
};

static int compare_starts(const void *left, const void *right)
{
	const struct call *a = left, *b = right;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	return (a->op > b->op) - (a->op < b->op);
}

static struct call *calls_in_order(const struct recording *rec, size_t *count)
{
	struct call *calls = memory_new(rec->op_count, sizeof(*calls));

	*count = 0;
	for (uint32_t i = 0; i < rec->op_count; i++) {
		const struct rec_op *op = &rec->ops[i];
		bool is_poll = op->kind == KIND_POLL && op->thread != NO_INDEX &&
			       !rec->extras[i].open && rec->extras[i].amount;

		if (is_poll || is_io(rec, i))
			calls[(*count)++] = (struct call){ op->start_ns, i, op->thread };
	}
	if (*count)
		qsort(calls, *count, sizeof(*calls), compare_starts);
	return calls;
}

static void ended_collect(struct search *search)
{
	size_t count;
	struct call *calls = calls_in_order(search->rec, &count);

	for (size_t i = 0; i < count; i++) {
		bool is_after_poll = i && calls[i - 1].thread == calls[i].thread &&
				     search->rec->ops[calls[i - 1].op].kind == KIND_POLL;

		if (search->rec->ops[calls[i].op].kind != KIND_IO)
			continue;
		struct ended ended = ended_by(search, calls[i].op);
		ended_add(search, &ended);
		ended.waited = calls[i - 1 + !is_after_poll].op;
		if (is_after_poll)
			ended_add(search, &ended);
	}
	free(calls);
	search->wanted = memory_new(2 * search->ended_count, sizeof(*search->wanted));
	for (size_t i = 0; i < search->ended_count; i++)
		for (int j = 0; j < 2; j++)
			search->wanted[search->wanted_count++] = search->ended[i].objects[j];
	if (search->wanted_count)
		qsort(search->wanted, search->wanted_count, sizeof(*search->wanted),
		      compare_objects);
}

/* --- which ended which --- */

/* The last one of an object's up to that time. */
static const struct ending *last_until(const struct search *search, uint64_t object, uint64_t at_ns)
{
	size_t low = 0, high = search->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct ending *ending = &search->endings[middle];

		if (ending->object < object || (ending->object == object && ending->at_ns <= at_ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low && search->endings[low - 1].object == object ? &search->endings[low - 1] : NULL;
}

static uint32_t process_of(const struct search *search, const struct ending *ending)
{
	return search->rec->threads[search->rec->ops[ending->op].thread].process;
}

/* One that an earlier doing of its own took the object from has it no more. */
static bool has_closed(const struct search *search, uint32_t client, const struct ending *until)
{
	for (const struct ending *ending = until; ending-- > search->endings;) {
		if (ending->object != until->object)
			return false;
		if (ending->op != NO_INDEX &&
		    search->rec->processes[process_of(search, ending)].client == client)
			return true;
	}
	return false;
}

static bool may_have_copy(const struct search *search, const struct ending *ending)
{
	uint32_t process = process_of(search, ending);
	const struct recording *rec = search->rec;

	if (!closes_one(rec->strings[rec->ops[ending->op].name]))
		return false;
	for (size_t i = 0; i < search->child_count; i++) {
		const struct child *child = &search->children[i];

		if (child->parent == process && child->forked_ns < ending->at_ns &&
		    child->begun_ns > ending->at_ns && !has_closed(search, child->client, ending))
			return true;
	}
	return false;
}

/* The doing that put an end to a call on one of its objects, NULL = not known. */
static const struct ending *ending_of(const struct search *search, const struct ended *ended,
				      uint64_t object)
{
	const struct rec_op *op = &search->rec->ops[ended->waited];
	uint64_t last_ns = (uint64_t)((double)(op->end_ns - op->start_ns) * assume.ended_within);
	const struct ending *found = object ? last_until(search, object, op->end_ns) : NULL;

	last_ns = last_ns > assume.last_words ? last_ns : assume.last_words;
	if (!found || found->op == NO_INDEX || search->rec->ops[found->op].thread == op->thread)
		return NULL;
	return found->at_ns > op->start_ns && op->end_ns - found->at_ns <= last_ns ? found : NULL;
}

static void wait_add(struct search *search, uint32_t waited, const struct ending *ending)
{
	struct recording *rec = search->rec;
	const struct rec_op *op = &rec->ops[waited], *ender = &rec->ops[ending->op];
	bool is_longer = may_have_copy(search, ending);

	rec->links = memory_grow(rec->links, &search->link_capacity, rec->link_count + 1,
				 sizeof(*rec->links));
	rec->waits = memory_grow(rec->waits, &search->wait_capacity, rec->wait_count + 1,
				 sizeof(*rec->waits));
	rec->links[rec->link_count] = (struct rec_link){ .at_ns = ending->at_ns,
							 .from = ending->op,
							 .to = NO_INDEX,
							 .kind = LINK_END,
							 .thread = ender->thread,
							 .stack = rec->extras[ending->op].stack };
	rec->waits[rec->wait_count++] =
		(struct rec_wait){ .start_ns = op->start_ns,
				   .end_ns = is_longer ? ending->at_ns : op->end_ns,
				   .waiter = waited,
				   .target = ending->op,
				   .reason = REASON_END,
				   .thread = op->thread,
				   .stack = rec->extras[waited].stack,
				   .name = op->name,
				   .holder = NO_INDEX,
				   .address = rec->link_count++ };
}

static void waits_add(struct search *search)
{
	for (size_t i = 0; i < search->ended_count; i++) {
		const struct ended *ended = &search->ended[i];
		const struct ending *ending = ending_of(search, ended, ended->objects[0]);

		if (!ending)
			ending = ending_of(search, ended, ended->objects[1]);
		if (ending && !search->is_awaiting[ended->waited]) {
			wait_add(search, ended->waited, ending);
			search->is_awaiting[ended->waited] = true;
		}
	}
}

static bool *waiters_of(const struct recording *rec)
{
	bool *is_awaiting = memory_new(rec->op_count, sizeof(*is_awaiting));

	for (size_t i = 0; i < rec->wait_count; i++)
		if (rec->waits[i].waiter != NO_INDEX)
			is_awaiting[rec->waits[i].waiter] = true;
	return is_awaiting;
}

void ended_find(struct recording *rec)
{
	struct search search = { .rec = rec,
				 .wait_capacity = rec->wait_count,
				 .link_capacity = rec->link_count };

	if (!rec->extras || !rec->thread_count)
		return;
	search.is_awaiting = waiters_of(rec);
	flow_names_build(&search.names, rec);
	ended_collect(&search);
	if (search.ended_count) {
		search.closed_object = memory_new(rec->string_count, sizeof(uint64_t));
		endings_collect(&search);
		children_collect(&search);
		waits_add(&search);
		free(search.closed_object);
	}
	flow_names_free(&search.names);
	free(search.is_awaiting);
	free(search.endings);
	free(search.children);
	free(search.wanted);
	free(search.ended);
}
