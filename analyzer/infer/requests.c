/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds requests in what threads read and write; requests.h says which.
 *
 * Exchanges on connections are requests (exchanges.h). A question that was never answered is one if
 * others that begin like it were. On pipes and in messages a thread whose first transfer is a write
 * asks, and its next read is the answer. A read of what it wrote itself is none: it takes something
 * from a store, as make's job server is.
 *
 * All work of threads for one trace is a request, wherever they are: traces.h.
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
#include "exchanges.h"
#include "format.h"

/* Where a request begins or ends. */
struct point {
	uint32_t op; /* NO_INDEX = it has not ended */
	enum stamp_point at;
};

struct seeking {
	struct requests *requests;
	const struct recording *rec;
	const struct class_table *classes;
	const struct flows *flows;
	struct carriers carriers;
	struct exchanges exchanges;
	size_t request_room, place_room;
	uint32_t *ordinals; /* by string: requests of that pipe so far */
	/* of the thread that is looked at */
	uint32_t question;      /* write that waits for its answer, NO_INDEX = none */
	uint32_t question_flow; /* of the last one */
	uint32_t job;           /* read that brought what is being done, NO_INDEX = none */
	bool has_transfers;
	bool asks;
	/* of locks */
	uint64_t *waited_ns; /* by class of holds */
	uint32_t *wait_counts;
	uint32_t lock_class; /* most waited for, NO_INDEX = none */
};

/* --- what is found --- */

static uint64_t time_of(const struct recording *rec, struct point point)
{
	if (point.op == NO_INDEX)
		return rec->end_ns;
	return point.at == STAMP_END ? rec->ops[point.op].end_ns : rec->ops[point.op].start_ns;
}

static void place_add(struct seeking *seeking, struct point point, uint32_t stamp)
{
	struct requests *requests = seeking->requests;

	assert(point.op < seeking->rec->op_count && stamp < 2 * requests->count);
	requests->places = memory_grow(requests->places, &seeking->place_room,
				       requests->place_count + 1, sizeof(*requests->places));
	requests->places[requests->place_count++] =
		(struct stamp_place){ point.op, stamp, point.at };
}

/* `request` has its source, its op and its number. */
static void request_add(struct seeking *seeking, struct request request, struct point from,
			struct point to)
{
	struct requests *requests = seeking->requests;
	uint32_t number = (uint32_t)requests->count;

	request.class = seeking->classes->of_op[request.op];
	request.thread = seeking->rec->ops[request.op].thread;
	request.start_ns = time_of(seeking->rec, from);
	request.end_ns = time_of(seeking->rec, to);
	request.is_unfinished = to.op == NO_INDEX;
	request.taken_ns = request.end_ns - request.start_ns;
	assert(request.end_ns >= request.start_ns);
	if (request.thread != NO_INDEX && !ids_have_trace(&request.ids))
		request.ids =
			ids_within(seeking->rec, request.thread, request.start_ns, request.end_ns);
	requests->requests = memory_grow(requests->requests, &seeking->request_room,
					 requests->count + 1, sizeof(*requests->requests));
	requests->requests[requests->count++] = request;
	place_add(seeking, from, 2 * number);
	if (to.op != NO_INDEX)
		place_add(seeking, to, 2 * number + 1);
}

/* One that begins where its op does. */
static void request_add_plain(struct seeking *seeking, enum request_source source, uint32_t op,
			      struct point to)
{
	const struct rec_op *from = &seeking->rec->ops[op];
	struct request request = { .source = source,
				   .op = op,
				   .early_ns = from->start_ns,
				   .connection = from->kind == KIND_IO ? from->ident : 0,
				   .of = NO_INDEX };

	if (time_of(seeking->rec, to) < from->start_ns)
		return;
	if (request.connection)
		request.ordinal = seeking->ordinals[request.connection]++;
	request_add(seeking, request, (struct point){ op, STAMP_BEGIN }, to);
}

/* --- traces --- */

static void trace_add(struct seeking *seeking, const struct traced *trace)
{
	struct trace_ends ends;

	if (!traces_ends(&seeking->requests->traces, seeking->rec, trace, &ends))
		return;
	request_add(seeking,
		    (struct request){ .source = REQUEST_TRACED,
				      .op = ends.first_op,
				      .early_ns = ends.before_ns,
				      .ids = ends.ids,
				      .of = NO_INDEX },
		    (struct point){ ends.first_op, STAMP_BEGIN },
		    (struct point){ ends.last_op, STAMP_END });
}

static void traces_add(struct seeking *seeking, const struct timeline *timeline)
{
	struct traces *traces = &seeking->requests->traces;

	traces_build(traces, seeking->rec, timeline);
	for (size_t i = 0; i < traces->count; i++)
		trace_add(seeking, &traces->traces[i]);
}

/* --- exchanges on connections --- */

/* By class of ops: an exchange that begins with one was answered. */
static bool *answered_find(const struct seeking *seeking)
{
	bool *is_answered = memory_new(seeking->classes->count, sizeof(*is_answered));

	for (size_t i = 0; i < seeking->exchanges.count; i++) {
		const struct exchange *exchange = &seeking->exchanges.exchanges[i];

		if (exchange->last_op != NO_INDEX)
			is_answered[seeking->classes->of_op[exchange->first_op]] = true;
	}
	return is_answered;
}

static void exchange_add(struct seeking *seeking, const struct exchange *exchange)
{
	struct request request = { .source = exchange->is_served ? REQUEST_SERVED : REQUEST_ASKED,
				   .op = exchange->first_op,
				   .early_ns = exchange->early_ns,
				   .connection = exchange->connection,
				   .ordinal = exchange->ordinal,
				   .kind = exchange->kind,
				   .sharing = exchange->sharing,
				   .within = exchange->within,
				   .of = NO_INDEX };

	request_add(seeking, request,
		    (struct point){ exchange->arrival_op,
				    exchange->is_at_end ? STAMP_END : STAMP_BEGIN },
		    (struct point){ exchange->last_op, STAMP_END });
}

static void exchanges_add(struct seeking *seeking)
{
	const struct exchanges *exchanges = &seeking->exchanges;
	bool *is_answered = answered_find(seeking);
	uint32_t *number = memory_new(exchanges->count, sizeof(*number));

	for (size_t i = 0; i < exchanges->count; i++) {
		const struct exchange *exchange = &exchanges->exchanges[i];

		number[i] = NO_INDEX;
		if (exchange->last_op == NO_INDEX &&
		    !is_answered[seeking->classes->of_op[exchange->first_op]])
			continue;
		number[i] = (uint32_t)seeking->requests->count;
		exchange_add(seeking, exchange);
	}
	for (size_t i = 0; i < exchanges->count; i++)
		if (number[i] != NO_INDEX && exchanges->exchanges[i].of != NO_INDEX)
			seeking->requests->requests[number[i]].of =
				number[exchanges->exchanges[i].of];
	free(is_answered);
	free(number);
}

/* By clients that are not recorded, or are other processes. */
static bool is_servers(const struct requests *requests, const struct recording *rec,
		       const struct request *request)
{
	return rec->extras[request->op].accepted && request_is_of_others(requests, rec, request);
}

static void asking_look_at(struct requests *requests, const struct recording *rec)
{
	struct asking_span *spans = memory_new(requests->count, sizeof(*spans));
	size_t count = 0;

	for (size_t i = 0; i < requests->count; i++)
		if (is_servers(requests, rec, &requests->requests[i]))
			spans[count++] = (struct asking_span){ requests->requests[i].start_ns,
							       requests->requests[i].end_ns };
	asking_measure(&requests->asking, spans, count);
	free(spans);
}

/* --- jobs in a pipe --- */

static void job_end(struct seeking *seeking, struct point to)
{
	if (seeking->job == NO_INDEX)
		return;
	uint32_t write = seeking->carriers.write_of[seeking->flows->transfer_of[seeking->job]];

	if (write != NO_INDEX)
		request_add_plain(seeking, REQUEST_JOB, write, to);
	seeking->job = NO_INDEX;
}

static void job_seek(struct seeking *seeking, uint32_t op, uint32_t transfer)
{
	const struct transfer *read = &seeking->flows->transfers[transfer];

	if (read->is_write || read->is_rest || !seeking->flows->flows[read->flow].is_shared)
		return;
	job_end(seeking, (struct point){ op, STAMP_BEGIN });
	seeking->job = op;
}

/* --- questions and answers --- */

static void answer_seek(struct seeking *seeking, uint32_t op, uint32_t transfer)
{
	const struct transfer *of = &seeking->flows->transfers[transfer];

	if (!seeking->has_transfers)
		seeking->asks = of->is_write;
	seeking->has_transfers = true;
	if (!seeking->asks)
		return;
	if (of->is_write) {
		if (seeking->question == NO_INDEX)
			seeking->question = op, seeking->question_flow = of->flow;
		return;
	}
	if (seeking->question != NO_INDEX && of->flow != seeking->question_flow)
		request_add_plain(seeking, REQUEST_ASKED, seeking->question,
				  (struct point){ op, STAMP_END });
	seeking->question = NO_INDEX;
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

static void lock_add(struct seeking *seeking, uint32_t hold, uint64_t waited_ns)
{
	struct requests *requests = seeking->requests;

	request_add_plain(seeking, REQUEST_LOCK, hold, (struct point){ hold, STAMP_GAINED });
	struct request *request = &requests->requests[requests->count - 1];
	request->taken_ns = waited_ns;
	request->start_ns = request->early_ns = request->end_ns - waited_ns;
}

static void gain_add(struct seeking *seeking, uint32_t hold, uint64_t waited_ns)
{
	/* a thread that tries does not ask, and comes again and again */
	if (seeking->classes->of_op[hold] == seeking->lock_class &&
	    !seeking->rec->extras[hold].tried)
		lock_add(seeking, hold, waited_ns);
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

/* A mark within a probed function may be the outermost one. So may a call within one that was
 * recorded because of its length or a condition: others like it are within none. */
static bool is_outermost(const struct recording *rec, uint32_t op)
{
	bool is_probed = rec->extras[op].probed;

	for (uint32_t at = rec->ops[op].parent; at != NO_INDEX; at = rec->ops[at].parent) {
		if (rec->ops[at].kind != KIND_OP_USER)
			return true;
		if (is_probed ? !rec->extras[at].chosen : !rec->extras[at].probed)
			return false;
	}
	return true;
}

/* Of a function some of whose calls were left out there is neither a rate nor a median. */
static void mark_look_at(struct seeking *seeking, uint32_t op)
{
	const struct recording *rec = seeking->rec;
	const struct rec_op *mark = &rec->ops[op];
	bool is_open = rec->extras[op].open;

	if (mark->kind != KIND_OP_USER || rec->extras[op].chosen ||
	    (!is_open && mark->start_ns == mark->end_ns) || !is_outermost(rec, op))
		return;
	request_add_plain(seeking, rec->extras[op].probed ? REQUEST_PROBED : REQUEST_MARKED, op,
			  (struct point){ is_open ? NO_INDEX : op, STAMP_END });
}

static void op_look_at(struct seeking *seeking, uint32_t op)
{
	const struct recording *rec = seeking->rec;
	const struct rec_op *rec_op = &rec->ops[op];

	mark_look_at(seeking, op);
	if (rec_op->kind != KIND_IO || seeking->exchanges.is_of_end[op])
		return;
	if (rec->extras[op].open && seeking->job != NO_INDEX && /* a worker waits for its next */
	    rec_op->ident == rec->ops[seeking->job].ident)
		job_end(seeking, (struct point){ op, STAMP_BEGIN });
	uint32_t transfer = seeking->flows->transfer_of[op];
	if (transfer == NO_INDEX)
		return;
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
	uint32_t own = seeking->rec->threads[thread].op;

	seeking->job = seeking->question = NO_INDEX;
	seeking->has_transfers = seeking->asks = false;
	for (size_t i = timeline->first[thread]; i < timeline->first[thread + 1]; i++) {
		enum moment_type type = moment_type(&timeline->moments[i]);

		if (type == MOMENT_OP_BEGIN || type == MOMENT_OP_POINT)
			op_look_at(seeking, timeline->moments[i].index);
	}
	if (own != NO_INDEX && seeking->rec->extras[own].open)
		job_end(seeking, (struct point){ NO_INDEX, STAMP_END });
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

void requests_build(struct requests *requests, const struct recording *recording,
		    const struct class_table *classes, const struct flows *flows,
		    const struct timeline *timeline)
{
	struct seeking seeking = {
		.requests = requests, .rec = recording, .classes = classes, .flows = flows
	};

	assert(recording->extras && timeline->thread_count == recording->thread_count);
	*requests = (struct requests){ .has_places = memory_new(recording->op_count / 8 + 1, 1) };
	seeking.ordinals = memory_new(recording->string_count, sizeof(*seeking.ordinals));
	carriers_build(&seeking.carriers, flows, recording);
	exchanges_build(&seeking.exchanges, recording, flows, &seeking.carriers);
	exchanges_add(&seeking);
	traces_add(&seeking, timeline);
	for (size_t t = 0; t < timeline->thread_count; t++)
		thread_look_at(&seeking, timeline, t);
	requests_find_parts(requests, recording);
	asking_look_at(requests, recording);
	requests_judge(requests, classes->count, NULL);
	if (requests->judged_class == NO_INDEX) {
		locks_seek(&seeking, timeline);
		requests_judge(requests, classes->count, NULL);
	}
	requests_sort_places(requests);
	free(seeking.ordinals);
	exchanges_free(&seeking.exchanges);
	carriers_free(&seeking.carriers);
}

void requests_sort_places(struct requests *requests)
{
	for (size_t i = 0; i < requests->place_count; i++)
		requests->has_places[requests->places[i].op / 8] |=
			(uint8_t)(1 << requests->places[i].op % 8);
	if (requests->place_count)
		qsort(requests->places, requests->place_count, sizeof(*requests->places),
		      compare_places);
}

void requests_free(struct requests *requests)
{
	free(requests->requests);
	free(requests->places);
	free(requests->has_places);
	traces_free(&requests->traces);
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
