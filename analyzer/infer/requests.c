/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds requests in what threads read and write; requests.h says which.
 *
 * A thread whose first transfer to or from another recorded thread is a write asks. The answer is
 * its next read, from the same socket if it asked by one. A read of what it wrote itself is none:
 * it takes something from a store, as make's job server is. A thread whose first transfer is a read
 * serves. A request from outside the recording is known by its descriptor. Of all classes of
 * requests, hypotheses are judged by the surest one with the most time.
 *
 * Threads that share nothing but locks ask for locks. Where nothing else is a request, each
 * coming for the class of locks that was waited for most is one. The lock may have been free.
 *
 * One thread.
 */
#include "requests.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "format.h"

enum {
	DESCRIPTORS_MAX = 65536, /* beyond, requests are not seen */
	REQUESTS_LEAST = 2       /* one alone has no percentiles */
};

/* A write that waits for its answer. */
struct question {
	size_t thread; /* of the last one */
	uint32_t op;   /* NO_INDEX = it was answered */
	uint32_t flow; /* of the last one */
};

struct seeking {
	struct requests *requests;
	const struct recording *rec;
	const struct class_table *classes;
	const struct flows *flows;
	size_t request_room, place_room;
	uint32_t *write_of; /* by transfer: of a read, the op that wrote its first byte */
	/* of the thread that is looked at */
	size_t thread;
	struct question *questions; /* by string: the socket's, or that of no string for all else */
	uint32_t job;               /* read that brought what is being done, NO_INDEX = none */
	uint32_t *served_by; /* by descriptor: read that was not answered yet, NO_INDEX = none */
	uint32_t *ordinals;  /* by string: requests of that connection so far */
	bool has_transfers;
	bool asks;
	/* of locks */
	uint64_t *waited_ns; /* by class of holds */
	uint32_t *wait_counts;
	uint32_t lock_class; /* most waited for, NO_INDEX = none */
};

/* --- what is found --- */

static uint64_t time_of(const struct recording *rec, uint32_t op, enum stamp_point point)
{
	return point == STAMP_END ? rec->ops[op].end_ns : rec->ops[op].start_ns;
}

static void place_add(struct seeking *seeking, uint32_t op, enum stamp_point point, uint32_t stamp)
{
	struct requests *requests = seeking->requests;

	assert(op < seeking->rec->op_count && stamp < 2 * requests->count);
	requests->places = memory_grow(requests->places, &seeking->place_room,
				       requests->place_count + 1, sizeof(*requests->places));
	requests->places[requests->place_count++] = (struct stamp_place){ op, stamp, point };
	requests->has_places[op / 8] |= (uint8_t)(1 << op % 8);
}

static void request_add_taken(struct seeking *seeking, enum request_source source, uint32_t from,
			      enum stamp_point from_point, uint32_t to, enum stamp_point to_point,
			      uint64_t taken_ns)
{
	struct requests *requests = seeking->requests;
	const struct rec_op *op = &seeking->rec->ops[from];
	uint32_t number = (uint32_t)requests->count;
	uint32_t connection = op->kind == KIND_IO ? op->ident : 0;
	uint64_t end_ns = time_of(seeking->rec, to, to_point);

	requests->requests = memory_grow(requests->requests, &seeking->request_room,
					 requests->count + 1, sizeof(*requests->requests));
	requests->requests[requests->count++] = (struct request){
		.class = seeking->classes->of_op[from],
		.source = source,
		.taken_ns = taken_ns,
		.start_ns = end_ns - taken_ns,
		.end_ns = end_ns,
		.early_ns = end_ns - taken_ns,
		.op = from,
		.thread = op->thread,
		.connection = connection,
		.ordinal = seeking->ordinals[connection],
		.of = NO_INDEX,
	};
	seeking->ordinals[connection] += connection > 0;
	place_add(seeking, from, from_point, 2 * number);
	place_add(seeking, to, to_point, 2 * number + 1);
}

static void request_add(struct seeking *seeking, enum request_source source, uint32_t from,
			enum stamp_point from_point, uint32_t to, enum stamp_point to_point)
{
	uint64_t from_ns = time_of(seeking->rec, from, from_point);
	uint64_t to_ns = time_of(seeking->rec, to, to_point);

	if (to_ns >= from_ns)
		request_add_taken(seeking, source, from, from_point, to, to_point, to_ns - from_ns);
}

/* --- jobs in a pipe --- */

/* Which write each read's first byte came with. Transfers are flow by flow, in order of time. */
static void writes_find(struct seeking *seeking)
{
	const struct flows *flows = seeking->flows;
	uint32_t *op_of = memory_new(flows->transfer_count, sizeof(*op_of));
	uint64_t written = 0, received = 0;
	size_t write = 0;

	for (uint32_t op = 0; op < seeking->rec->op_count; op++)
		if (flows->transfer_of[op] != NO_INDEX)
			op_of[flows->transfer_of[op]] = op;
	seeking->write_of = memory_new(flows->transfer_count, sizeof(*seeking->write_of));
	for (size_t i = 0; i < flows->transfer_count; i++) {
		const struct transfer *transfer = &flows->transfers[i];

		seeking->write_of[i] = NO_INDEX;
		if (!i || flows->transfers[i - 1].flow != transfer->flow)
			written = received = 0, write = i;
		if (transfer->is_write)
			continue;
		/* `written`: bytes of the writes before `write`. */
		for (; write < i; write++) {
			const struct transfer *from = &flows->transfers[write];

			if (!from->is_write)
				continue;
			if (written + from->bytes > received)
				break;
			written += from->bytes;
		}
		if (write < i)
			seeking->write_of[i] = op_of[write];
		received += transfer->bytes;
	}
	free(op_of);
}

static void job_seek(struct seeking *seeking, uint32_t op, uint32_t transfer)
{
	const struct transfer *read = &seeking->flows->transfers[transfer];

	if (read->is_write || !seeking->flows->flows[read->flow].is_shared)
		return;
	if (seeking->job != NO_INDEX) {
		uint32_t write = seeking->write_of[seeking->flows->transfer_of[seeking->job]];

		if (write != NO_INDEX)
			request_add(seeking, REQUEST_JOB, write, STAMP_BEGIN, op, STAMP_BEGIN);
	}
	seeking->job = op;
}

/* --- questions and answers --- */

static struct question *question_of(struct seeking *seeking, uint32_t op)
{
	uint32_t ident = seeking->rec->ops[op].ident;
	const char *text = seeking->rec->strings[ident];
	bool is_socket = strncmp(text, "tcp ", 4) == 0 || strncmp(text, "unix", 4) == 0;
	struct question *question = &seeking->questions[is_socket ? ident : 0];

	if (question->thread != seeking->thread)
		*question = (struct question){ seeking->thread, NO_INDEX, NO_INDEX };
	return question;
}

static void answer_seek(struct seeking *seeking, uint32_t op, uint32_t transfer)
{
	const struct transfer *of = &seeking->flows->transfers[transfer];
	bool is_write = of->is_write;

	if (!seeking->has_transfers)
		seeking->asks = is_write;
	seeking->has_transfers = true;
	if (!seeking->asks)
		return;
	struct question *asked = question_of(seeking, op);

	if (is_write) {
		if (asked->op == NO_INDEX)
			*asked = (struct question){ seeking->thread, op, of->flow };
	} else if (of->flow == asked->flow) {
		asked->op = NO_INDEX;
	} else if (asked->op != NO_INDEX) {
		request_add(seeking, REQUEST_ASKED, asked->op, STAMP_BEGIN, op, STAMP_END);
		asked->op = NO_INDEX;
	}
}

static void served_seek(struct seeking *seeking, uint32_t op)
{
	const struct rec_op_extra *extra = &seeking->rec->extras[op];
	enum flow_direction direction =
		flow_direction_of(seeking->rec->strings[seeking->rec->ops[op].name]);

	if (!extra->accepted || extra->open || extra->fd < 0 || extra->fd >= DESCRIPTORS_MAX ||
	    !extra->amount)
		return;
	uint32_t *pending = &seeking->served_by[extra->fd];
	if (direction == FLOW_READ && *pending == NO_INDEX) {
		*pending = op;
	} else if (direction == FLOW_WRITE && *pending != NO_INDEX) {
		request_add(seeking, REQUEST_SERVED, *pending, STAMP_END, op, STAMP_END);
		*pending = NO_INDEX;
	}
}

/* --- coming for a lock --- */

/* How long each hold was waited for, thread by thread. */
static void gains_look_at(struct seeking *seeking, const struct timeline *timeline,
			  void (*look)(struct seeking *, uint32_t hold, uint64_t waited_ns))
{
	const struct recording *rec = seeking->rec;
	const struct rec_wait *wait = NULL;

	for (size_t i = 0; i < timeline->first[timeline->thread_count]; i++) {
		const struct moment *moment = &timeline->moments[i];
		enum moment_type type = moment_type(moment);

		if (type == MOMENT_WAIT_END || type == MOMENT_WAIT_POINT)
			wait = &rec->waits[moment->index];
		if ((type != MOMENT_OP_BEGIN && type != MOMENT_OP_POINT) ||
		    rec->ops[moment->index].kind != KIND_HOLD)
			continue;
		bool has_waited = wait && wait->thread == rec->ops[moment->index].thread &&
				  wait->address == rec->extras[moment->index].address &&
				  wait->reason != REASON_COND;
		look(seeking, moment->index, has_waited ? wait->end_ns - wait->start_ns : 0);
		wait = NULL;
	}
}

static void gain_count(struct seeking *seeking, uint32_t hold, uint64_t waited_ns)
{
	uint32_t class = seeking->classes->of_op[hold];

	seeking->waited_ns[class] += waited_ns;
	seeking->wait_counts[class] += waited_ns > 0;
}

static void gain_add(struct seeking *seeking, uint32_t hold, uint64_t waited_ns)
{
	/* a thread that tries does not ask, and comes again and again */
	if (seeking->classes->of_op[hold] == seeking->lock_class &&
	    !seeking->rec->extras[hold].tried)
		request_add_taken(seeking, REQUEST_LOCK, hold, STAMP_BEGIN, hold, STAMP_GAINED,
				  waited_ns);
}

static void locks_seek(struct seeking *seeking, const struct timeline *timeline)
{
	uint32_t class_count = seeking->classes->count;

	seeking->waited_ns = memory_new(class_count, sizeof(*seeking->waited_ns));
	seeking->wait_counts = memory_new(class_count, sizeof(*seeking->wait_counts));
	seeking->lock_class = NO_INDEX;
	gains_look_at(seeking, timeline, gain_count);
	for (uint32_t i = 0; i < class_count; i++)
		if (seeking->wait_counts[i] >= REQUESTS_LEAST &&
		    (seeking->lock_class == NO_INDEX ||
		     seeking->waited_ns[i] > seeking->waited_ns[seeking->lock_class]))
			seeking->lock_class = i;
	if (seeking->lock_class != NO_INDEX)
		gains_look_at(seeking, timeline, gain_add);
	free(seeking->waited_ns);
	free(seeking->wait_counts);
}

/* --- all of it --- */

static void op_look_at(struct seeking *seeking, uint32_t op)
{
	const struct recording *rec = seeking->rec;
	const struct rec_op *rec_op = &rec->ops[op];
	bool is_inside =
		rec_op->parent != NO_INDEX && rec->ops[rec_op->parent].kind == KIND_OP_USER;

	if (rec_op->kind == KIND_OP_USER && !is_inside && !rec->extras[op].open)
		request_add(seeking, REQUEST_MARKED, op, STAMP_BEGIN, op, STAMP_END);
	if (rec_op->kind != KIND_IO)
		return;
	uint32_t transfer = seeking->flows->transfer_of[op];
	if (transfer == NO_INDEX) {
		served_seek(seeking, op);
		return;
	}
	/* Neither who connects nor who calls a loop says what for. */
	enum flow_unit unit = seeking->flows->flows[seeking->flows->transfers[transfer].flow].unit;
	if (unit == FLOW_SIGNALS || unit == FLOW_CONNECTIONS)
		return;
	if (seeking->flows->flows[seeking->flows->transfers[transfer].flow].is_given_back)
		return;
	answer_seek(seeking, op, transfer);
	job_seek(seeking, op, transfer);
}

static void thread_look_at(struct seeking *seeking, const struct timeline *timeline, size_t thread)
{
	seeking->thread = thread;
	seeking->job = NO_INDEX;
	seeking->has_transfers = seeking->asks = false;
	memset(seeking->served_by, 0xff, DESCRIPTORS_MAX * sizeof(*seeking->served_by));
	for (size_t i = timeline->first[thread]; i < timeline->first[thread + 1]; i++) {
		enum moment_type type = moment_type(&timeline->moments[i]);

		if (type == MOMENT_OP_BEGIN || type == MOMENT_OP_POINT)
			op_look_at(seeking, timeline->moments[i].index);
	}
}

static int compare_places(const void *left, const void *right)
{
	const struct stamp_place *a = left, *b = right;

	if (a->op != b->op)
		return a->op < b->op ? -1 : 1;
	if (a->point != b->point)
		return a->point < b->point ? -1 : 1;
	return a->stamp < b->stamp ? -1 : a->stamp > b->stamp;
}

/* The requests to judge by: of the surest source, the class in which most time was spent. */
static void judged_find(struct requests *requests, uint32_t class_count)
{
	uint64_t *taken_ns = memory_new(class_count, sizeof(*taken_ns));
	uint32_t *counts = memory_new(class_count, sizeof(*counts));

	requests->judged_class = NO_INDEX;
	for (int source = REQUEST_MARKED;
	     source <= REQUEST_LOCK && requests->judged_class == NO_INDEX; source++) {
		memset(taken_ns, 0, class_count * sizeof(*taken_ns));
		memset(counts, 0, class_count * sizeof(*counts));
		for (size_t i = 0; i < requests->count; i++) {
			const struct request *request = &requests->requests[i];

			if ((int)request->source != source)
				continue;
			taken_ns[request->class] += request->taken_ns;
			counts[request->class]++;
		}
		for (uint32_t i = 0; i < class_count; i++) {
			if (counts[i] < REQUESTS_LEAST ||
			    (requests->judged_class != NO_INDEX &&
			     taken_ns[i] <= taken_ns[requests->judged_class]))
				continue;
			requests->judged_class = i;
			requests->judged_source = (enum request_source)source;
			requests->judged_count = counts[i];
		}
	}
	free(taken_ns);
	free(counts);
}

void requests_build(struct requests *requests, const struct recording *recording,
		    const struct class_table *classes, const struct flows *flows,
		    const struct timeline *timeline)
{
	struct seeking seeking = {
		.requests = requests, .rec = recording, .classes = classes, .flows = flows
	};

	assert(recording->extras && timeline->thread_count == recording->thread_count);
	*requests = (struct requests){ .has_places = memory_new(recording->op_count / 8 + 1, 1) };
	seeking.served_by = memory_new(DESCRIPTORS_MAX, sizeof(*seeking.served_by));
	seeking.ordinals = memory_new(recording->string_count, sizeof(*seeking.ordinals));
	seeking.questions = memory_new(recording->string_count, sizeof(*seeking.questions));
	for (size_t i = 0; i < recording->string_count; i++)
		seeking.questions[i].thread = SIZE_MAX;
	writes_find(&seeking);
	for (size_t t = 0; t < timeline->thread_count; t++)
		thread_look_at(&seeking, timeline, t);
	judged_find(requests, classes->count);
	if (requests->judged_class == NO_INDEX) {
		locks_seek(&seeking, timeline);
		judged_find(requests, classes->count);
	}
	if (requests->place_count)
		qsort(requests->places, requests->place_count, sizeof(*requests->places),
		      compare_places);
	free(seeking.served_by);
	free(seeking.questions);
	free(seeking.ordinals);
	free(seeking.write_of);
}

void requests_free(struct requests *requests)
{
	free(requests->requests);
	free(requests->places);
	free(requests->has_places);
	*requests = (struct requests){ 0 };
}

const struct stamp_place *requests_places(const struct requests *requests, uint32_t op,
					  enum stamp_point point, size_t *count)
{
	const struct stamp_place *places = requests->places;
	size_t low = 0, high = requests->place_count;

	*count = 0;
	if (!(requests->has_places[op / 8] & 1 << op % 8))
		return NULL;
	while (low < high) {
		size_t middle = (low + high) / 2;
		bool is_before = places[middle].op != op ? places[middle].op < op
							 : places[middle].point < point;

		if (is_before)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = low;
	     i < requests->place_count && places[i].op == op && places[i].point == point; i++)
		(*count)++;
	return places + low;
}

bool request_is_judged(const struct requests *requests, const struct request *request)
{
	return requests->judged_class == request->class &&
	       requests->judged_source == request->source;
}
