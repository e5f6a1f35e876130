/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cuts what goes through the ends of connections into exchanges; exchanges.h has the contract.
 *
 * Method. At an end that serves, reads are the question and writes the answer; at an end that asks
 * it is the other way round. An exchange goes on until the first bytes of a question that follow an
 * answer. Answers to nothing are greetings, and no exchange. A question that is never answered,
 * and after which the end is closed, is a farewell, and none either. Nor is what TLS itself says,
 * where first words were recorded.
 *
 * Several questions in one read, or in reads without an answer in between, are one exchange: it is
 * the busy period of its connection. So are requests of HTTP/2, which overlap.
 *
 * Where both ends are recorded, the end that serves says what an exchange is: it has read a
 * question when it answers. Offsets of bytes then say which write brought the question, and which
 * read took the end of the answer. So clients may have several questions under way.
 *
 * One thread.
 */
#include "exchanges_parts.h"

#include <assert.h>
#include <stdlib.h>

#include "base/memory.h"
#include "format.h"

struct cutting {
	struct exchanges *exchanges;
	size_t room;
	const struct recording *rec;
	const struct flows *flows;
	const struct carriers *carriers;
	const struct connection_ends *ends;
	const struct arrival_polls *polls;
	uint32_t *ordinals;    /* by end */
	uint32_t *last_asked;  /* by end: its last write that the other end told of, or NO_INDEX */
	uint64_t *answered_ns; /* by end: when it had all of the last answer; 0 = not known */
};

/* The exchange of an end that is looked at. */
struct current {
	struct exchange exchange;
	uint64_t before_ns;     /* the end's use before its question */
	uint64_t bytes;         /* of the question */
	uint64_t request_bytes; /* of its first request; 0 = not known */
	bool is_any;
	bool is_closed;   /* by the process that has the question */
	bool is_by_other; /* the question came through its op's second descriptor */
	bool is_answered_by_other;
};

static uint32_t process_of(const struct recording *rec, uint32_t op)
{
	return rec->threads[rec->ops[op].thread].process;
}

static uint32_t exchange_add(struct cutting *cutting, uint32_t end, const struct exchange *exchange)
{
	struct exchanges *exchanges = cutting->exchanges;

	exchanges->exchanges = memory_grow(exchanges->exchanges, &cutting->room,
					   exchanges->count + 1, sizeof(*exchanges->exchanges));
	exchanges->exchanges[exchanges->count] = *exchange;
	exchanges->exchanges[exchanges->count].connection = cutting->ends->ends[end].ident;
	exchanges->exchanges[exchanges->count].ordinal = cutting->ordinals[end]++;
	return (uint32_t)exchanges->count++;
}

static uint32_t transfer_of(const struct cutting *cutting, uint32_t op, bool is_other)
{
	return is_other ? cutting->flows->other_of[op] : cutting->flows->transfer_of[op];
}

/* --- both ends --- */

/* The op at the other end; NO_INDEX: not known. */
static uint32_t asking_op(const struct cutting *cutting, const struct current *current)
{
	const struct rec_op *ops = cutting->rec->ops;
	uint32_t read = current->exchange.first_op;
	uint32_t transfer = transfer_of(cutting, read, current->is_by_other);
	uint32_t write = transfer == NO_INDEX ? NO_INDEX : cutting->carriers->write_of[transfer];

	/* clocks of two machines */
	return write != NO_INDEX && ops[write].start_ns > ops[read].end_ns ? NO_INDEX : write;
}

static uint32_t answered_op(const struct cutting *cutting, const struct current *current)
{
	uint32_t op = current->exchange.last_op;
	uint32_t transfer =
		op == NO_INDEX ? NO_INDEX : transfer_of(cutting, op, current->is_answered_by_other);

	uint32_t read = transfer == NO_INDEX ? NO_INDEX : cutting->carriers->read_of[transfer];

	return read != NO_INDEX && cutting->rec->ops[read].end_ns < cutting->rec->ops[op].start_ns
		       ? NO_INDEX
		       : read;
}

/* The exchange as the end sees it that asks. */
static struct exchange mirrored(const struct cutting *cutting, const struct current *current,
				uint32_t write)
{
	uint64_t start_ns = cutting->rec->ops[write].start_ns;

	return (struct exchange){ .first_op = write,
				  .last_op = answered_op(cutting, current),
				  .of = NO_INDEX,
				  .kind = current->exchange.kind,
				  .within = current->exchange.within,
				  .sharing = current->exchange.sharing,
				  .arrival_op = write,
				  .start_ns = start_ns,
				  .early_ns = start_ns };
}

/* --- one end --- */

/* A process that ended has closed what it had. */
static bool has_ended(const struct recording *rec, uint32_t process)
{
	uint32_t op = rec->processes[process].op;

	return op != NO_INDEX && !rec->extras[op].open;
}

/* A farewell, or words of the encryption itself. */
static bool is_none(const struct cutting *cutting, const struct current *current)
{
	if (is_kind_of_none(cutting->rec, current->exchange.kind))
		return true;
	return current->exchange.last_op == NO_INDEX &&
	       (current->is_closed ||
		has_ended(cutting->rec, process_of(cutting->rec, current->exchange.first_op)));
}

static void served_end(struct cutting *cutting, uint32_t end, struct current *current)
{
	const struct connection_end *of = &cutting->ends->ends[end];
	uint32_t write = of->peer == NO_INDEX ? NO_INDEX : asking_op(cutting, current);
	struct exchange *exchange = &current->exchange;

	exchange->is_served = true;
	if (write == NO_INDEX) {
		arrival_find(cutting->polls, of, exchange, current->before_ns);
		exchange_add(cutting, end, exchange);
		return;
	}
	if (exchange->sharing == EXCHANGE_PLAIN &&
	    cutting->rec->ops[write].start_ns < cutting->answered_ns[of->peer])
		exchange->sharing = EXCHANGE_PIPELINED;
	struct exchange asked = mirrored(cutting, current, write);

	exchange->arrival_op = write;
	exchange->start_ns = exchange->early_ns = asked.start_ns;
	asked.of = exchange_add(cutting, end, exchange);
	cutting->last_asked[of->peer] = write;
	cutting->answered_ns[of->peer] =
		asked.last_op == NO_INDEX ? 0 : cutting->rec->ops[asked.last_op].end_ns;
	/* an end that is closed before all of the answer waits for none */
	bool hangs_up = asked.last_op == NO_INDEX && exchange->last_op != NO_INDEX &&
			cutting->ends->ends[of->peer].is_closed;
	if (!hangs_up) {
		uint32_t other = exchange_add(cutting, of->peer, &asked);
		cutting->exchanges->exchanges[asked.of].of = other;
	}
}

static void asked_end(struct cutting *cutting, uint32_t end, struct current *current)
{
	struct exchange *exchange = &current->exchange;

	exchange->arrival_op = exchange->first_op;
	exchange->start_ns = exchange->early_ns = cutting->rec->ops[exchange->first_op].start_ns;
	exchange_add(cutting, end, exchange);
}

/* All requests in a question are taken to be as long as the first. */
static void share_find(const struct connection_end *end, struct current *current)
{
	struct exchange *exchange = &current->exchange;

	exchange->sharing = end->sharing;
	if (end->shared_kind)
		exchange->kind = end->shared_kind;
	exchange->within = 1;
	if (end->sharing != EXCHANGE_PLAIN || !current->request_bytes)
		return;
	uint64_t within = (current->bytes + current->request_bytes / 2) / current->request_bytes;

	exchange->sharing = EXCHANGE_BATCH;
	exchange->within = within < 2 ? 2 : within > UINT32_MAX ? UINT32_MAX : (uint32_t)within;
}

static void current_end(struct cutting *cutting, uint32_t end, struct current *current)
{
	const struct connection_end *of = &cutting->ends->ends[end];

	if (current->is_any && !is_none(cutting, current)) {
		share_find(of, current);
		if (of->role == ROLE_SERVES)
			served_end(cutting, end, current);
		else
			asked_end(cutting, end, current);
	}
	current->is_any = false;
}

static void kind_find(const struct recording *rec, uint32_t op, struct current *current)
{
	if (rec->ops[op].kind != KIND_IO)
		return;
	current->exchange.kind = rec->extras[op].request_kind;
	current->request_bytes = rec->extras[op].request_bytes;
}

static void question(struct cutting *cutting, const struct end_event *event,
		     struct current *current, uint64_t before_ns)
{
	bool is_more =
		current->is_any && current->exchange.last_op == NO_INDEX && !current->is_closed;

	if (!is_more) {
		current_end(cutting, event->end, current);
		*current = (struct current){
			.exchange = { .first_op = event->op, .last_op = NO_INDEX, .of = NO_INDEX },
			.before_ns = before_ns,
			.is_any = true,
			.is_by_other = event->is_other
		};
	}
	current->bytes += cutting->rec->extras[event->op].amount;
	if (current->exchange.kind == 0)
		kind_find(cutting->rec, event->op, current);
}

/* From the event at `from` on. */
static void end_cut(struct cutting *cutting, uint32_t index, size_t from)
{
	const struct connection_end *end = &cutting->ends->ends[index];
	struct current current = { .is_any = false };
	uint64_t before_ns = 0;

	for (size_t i = from; i < end->first_event + end->event_count; i++) {
		const struct end_event *event = &cutting->ends->events[i];
		const struct rec_op *op = &cutting->rec->ops[event->op];
		bool is_question =
			event->sort == (end->role == ROLE_SERVES ? END_READ : END_WRITTEN);

		if (event->sort == END_CLOSED) {
			current.is_closed |=
				current.is_any &&
				process_of(cutting->rec, event->op) ==
					process_of(cutting->rec, current.exchange.first_op);
		} else if (is_question) {
			question(cutting, event, &current, before_ns);
		} else if (event->sort != END_EMPTY && current.is_any) {
			current.exchange.last_op = event->op;
			current.is_answered_by_other = event->is_other;
		}
		/* a read that found nothing did so when it began */
		before_ns = event->sort == END_EMPTY ? op->start_ns : op->end_ns;
	}
	current_end(cutting, index, &current);
}

/* A write of whose end nobody has read. */
static bool is_unread(const struct cutting *cutting, const struct end_event *event)
{
	uint32_t transfer = transfer_of(cutting, event->op, event->is_other);

	return event->sort == END_WRITTEN &&
	       (transfer == NO_INDEX || cutting->carriers->read_of[transfer] == NO_INDEX);
}

/*
 * An end that asks: what the other end has not told. That is all, or what was asked last and not
 * yet read when the recording ended.
 */
static void asking_end_cut(struct cutting *cutting, uint32_t index)
{
	const struct connection_end *end = &cutting->ends->ends[index];
	uint32_t last = cutting->last_asked[index];
	size_t from = end->first_event, to = from + end->event_count;

	if (last != NO_INDEX)
		while (from < to &&
		       (cutting->ends->events[from].at_ns <= cutting->rec->ops[last].start_ns ||
			!is_unread(cutting, &cutting->ends->events[from])))
			from++;
	end_cut(cutting, index, from);
}

void exchanges_build(struct exchanges *exchanges, const struct recording *rec,
		     const struct flows *flows, const struct carriers *carriers)
{
	struct connection_ends ends;

	assert(rec->extras && rec->thread_count);
	*exchanges = (struct exchanges){ .is_of_end = memory_new(rec->op_count, sizeof(bool)) };
	connection_ends_build(&ends, rec, flows);
	connection_ends_share(&ends, rec);
	struct arrival_polls *polls = arrival_polls_new(rec);
	struct cutting cutting = { .exchanges = exchanges,
				   .rec = rec,
				   .flows = flows,
				   .carriers = carriers,
				   .ends = &ends,
				   .polls = polls };

	cutting.ordinals = memory_new(ends.count, sizeof(*cutting.ordinals));
	cutting.last_asked = memory_new(ends.count, sizeof(*cutting.last_asked));
	cutting.answered_ns = memory_new(ends.count, sizeof(*cutting.answered_ns));
	for (uint32_t i = 0; i < ends.count; i++)
		cutting.last_asked[i] = NO_INDEX;
	for (size_t i = 0; i < ends.event_count; i++)
		exchanges->is_of_end[ends.events[i].op] = true;
	for (uint32_t i = 0; i < ends.count; i++)
		if (ends.ends[i].role == ROLE_SERVES)
			end_cut(&cutting, i, ends.ends[i].first_event);
	for (uint32_t i = 0; i < ends.count; i++)
		if (ends.ends[i].role == ROLE_ASKS)
			asking_end_cut(&cutting, i);
	free(cutting.ordinals);
	free(cutting.last_asked);
	free(cutting.answered_ns);
	arrival_polls_free(polls);
	connection_ends_free(&ends);
}

void exchanges_free(struct exchanges *exchanges)
{
	free(exchanges->exchanges);
	free(exchanges->is_of_end);
	*exchanges = (struct exchanges){ 0 };
}
