/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An event as a row of the recording, once its line is read: checked, then added.
 *
 * Everything that the event refers to by number is looked up here. Strings and stacks must be in
 * the dump's header; threads and ops may be mentioned before anything else is known of them. One
 * thread.
 */
#include "reading.h"

#include "format.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <stdlib.h>

bool event_thread(struct reading *reading, uint64_t number, uint32_t *thread)
{
	struct recording *recording = reading->recording;

	*thread = NO_INDEX;
	if (number == 0)
		return true;
	if (number >= READ_THREADS_MAX)
		return reading_fail_here(
			reading, "a thread index of %" PRIu64 ", the largest possible is %d",
			number, READ_THREADS_MAX - 1);
	*thread = idmap_index(&reading->thread_ids, reading->dump.process, number);
	if (*thread == NO_INDEX)
		return reading_fail_memory(reading);
	if (*thread < recording->thread_count)
		return true;
	if (!reading_reserve(reading, &recording->threads, &reading->thread_capacity,
			     recording->thread_count, sizeof(*recording->threads)))
		return false;
	assert(*thread == recording->thread_count);
	recording->threads[recording->thread_count++] =
		(struct rec_thread){ .process = reading->dump.process, .op = NO_INDEX };
	return true;
}

bool event_id(struct reading *reading, uint64_t id, uint32_t *index)
{
	*index = NO_INDEX;
	if (id == 0)
		return true;
	*index = idmap_index(&reading->ids, reading->dump.process, id);
	if (*index == NO_INDEX)
		return reading_fail_memory(reading);
	if (*index < reading->op_of_count)
		return true;
	if (!reading_reserve(reading, &reading->op_of, &reading->op_of_capacity,
			     reading->op_of_count, sizeof(*reading->op_of)))
		return false;
	assert(*index == reading->op_of_count);
	reading->op_of[reading->op_of_count++] = NO_INDEX;
	return true;
}

static bool event_stack(struct reading *reading, uint64_t id, uint32_t *stack)
{
	*stack = 0;
	if (id == 0)
		return true;
	if (id >= reading->dump.stack_count)
		return reading_fail_here(reading,
					 "stack %" PRIu64 ", but the dump's header has %zu", id,
					 reading->dump.stack_count);
	*stack = reading->dump.stacks[id];
	return true;
}

static bool check_time(struct reading *reading, uint64_t time_ns)
{
	if (time_ns <= READ_TIME_NS_MAX)
		return true;
	return reading_fail_here(
		reading, "a time of %" PRIu64 " ns, over 36 years after the recording began",
		time_ns);
}

/* Start and end on the common axis. An open event ends when recording was turned off, else when the
 * dump was taken. */
static bool event_times(struct reading *reading, const struct event *event, uint64_t *start_ns,
			uint64_t *end_ns)
{
	uint64_t start = event->number[FIELD_START];
	uint64_t end = event->number[FIELD_END];

	if (event->is_open && end == 0)
		end = reading->dump.end_ns > start ? reading->dump.end_ns : start;
	if (!check_time(reading, start) || !check_time(reading, end))
		return false;
	if (end < start)
		return reading_fail_here(
			reading, "it ends (at %" PRIu64 " ns) before it starts (at %" PRIu64 " ns)",
			end, start);
	*start_ns = start + reading->dump.offset_ns;
	*end_ns = end + reading->dump.offset_ns;
	/* the wall clock, by which the dump's time is known, may have been set back */
	if ((int64_t)(*end_ns - reading->recording->end_ns) > 0)
		reading->recording->end_ns = *end_ns;
	return true;
}

static bool has_extra(const struct event *event)
{
	const uint64_t *number = event->number;

	return (number[FIELD_ADDRESS] | number[FIELD_AMOUNT] | number[FIELD_REQUESTED] |
		number[FIELD_STACK] | number[FIELD_CPU] | number[FIELD_SEQ] |
		number[FIELD_ABSOLUTE] | number[FIELD_ACCEPTED] | number[FIELD_RELOCK] |
		number[FIELD_FULL] | number[FIELD_OTHER_IDENT] | number[FIELD_REQUEST] |
		number[FIELD_PROBED]) != 0 ||
	       number[FIELD_FD] != UINT64_MAX;
}

/* The first op that has any extra: those before it get empty ones. */
static bool extras_begin(struct reading *reading)
{
	struct recording *recording = reading->recording;
	size_t i;

	recording->extras = malloc(reading->op_capacity * sizeof(*recording->extras));
	if (!recording->extras)
		return reading_fail_memory(reading);
	for (i = 0; i < recording->op_count; i++)
		recording->extras[i] = (struct rec_op_extra){ .fd = -1 };
	return true;
}

static bool reserve_op(struct reading *reading)
{
	struct recording *recording = reading->recording;
	size_t extra_capacity = reading->op_capacity;
	size_t line_capacity = reading->op_capacity;

	if (recording->op_count < reading->op_capacity)
		return true;
	if (recording->op_count >= READ_OPEN_OP - 1)
		return reading_fail(reading, -E2BIG, reading_line(reading),
				    "more than %u ops; analyse fewer dumps at a time",
				    READ_OPEN_OP - 1);
	if (recording->extras &&
	    !reading_grow(reading, &recording->extras, &extra_capacity, sizeof(*recording->extras)))
		return false;
	return reading_grow(reading, &reading->op_lines, &line_capacity,
			    sizeof(*reading->op_lines)) &&
	       reading_grow(reading, &recording->ops, &reading->op_capacity,
			    sizeof(*recording->ops));
}

static const char *line_file(const struct reading *reading, uint64_t line, uint64_t *line_in_file)
{
	size_t i = reading->file_count - 1;

	while (i > 0 && reading->files[i].first_line > line)
		i--;
	*line_in_file = line - reading->files[i].first_line + 1;
	return reading->files[i].path;
}

/*
 * The place of the op of this id: a new one, or that of the same op while it was open. An op that
 * is open here and known already has none (NO_INDEX), unless it goes on for longer here.
 */
static bool op_place(struct reading *reading, const struct event *event, uint32_t id,
		     uint64_t end_ns, uint32_t *place)
{
	struct recording *recording = reading->recording;
	uint32_t known = reading->op_of[id];
	uint64_t line;
	const char *file;

	if (known == NO_INDEX) {
		if (!reserve_op(reading))
			return false;
		*place = (uint32_t)recording->op_count++;
		recording->open_op_count += event->is_open;
		reading->op_of[id] = *place | (event->is_open ? READ_OPEN_OP : 0);
		return true;
	}
	*place = known & ~READ_OPEN_OP;
	if (known == *place && !event->is_open) {
		file = line_file(reading, reading->op_lines[*place], &line);
		return reading_fail(reading, -EBADMSG, reading_line(reading),
				    "op %" PRIu64 " is also at %s:%" PRIu64 "; give each dump once",
				    event->number[FIELD_ID], file, line);
	}
	if (event->is_open) {
		if (known == *place || (int64_t)(end_ns - recording->ops[*place].end_ns) <= 0)
			*place = NO_INDEX;
		return true;
	}
	recording->open_op_count--;
	reading->op_of[id] = *place;
	return true;
}

static bool op_strings(struct reading *reading, const struct event *event, struct rec_op *op)
{
	uint32_t meta;

	return reading_string(reading, event->number[FIELD_CLASS], &op->name) &&
	       reading_string(reading, event->number[FIELD_IDENT], &op->ident) &&
	       reading_string(reading, event->number[FIELD_CLIENT], &op->client) &&
	       reading_string(reading, event->number[FIELD_META], &meta);
}

static bool op_extra(struct reading *reading, const struct event *event, struct rec_op_extra *extra)
{
	const uint64_t *number = event->number;
	int64_t fd = (int64_t)number[FIELD_FD];

	if (fd < -1 || fd > INT32_MAX)
		return reading_fail_here(reading, "a descriptor of %" PRId64, fd);
	if (number[FIELD_MESSAGES] > UINT32_MAX)
		return reading_fail_here(reading, "%" PRIu64 " messages", number[FIELD_MESSAGES]);
	if (number[FIELD_REQUEST_BYTES] > UINT32_MAX)
		return reading_fail_here(reading, "a request of %" PRIu64 " bytes",
					 number[FIELD_REQUEST_BYTES]);
	if (number[FIELD_SEQ] > UINT32_MAX)
		return reading_fail_here(reading, "%" PRIu64 " as the number of a hold of its lock",
					 number[FIELD_SEQ]);
	*extra = (struct rec_op_extra){
		.address = number[FIELD_ADDRESS],
		.amount = number[FIELD_REQUESTED] ? number[FIELD_REQUESTED] : number[FIELD_AMOUNT],
		.cpu_ns = number[FIELD_CPU],
		.fd = (int32_t)fd,
		.seq = (uint32_t)(number[FIELD_SEQ] ? number[FIELD_SEQ] : number[FIELD_MESSAGES]),
		.absolute = number[FIELD_ABSOLUTE] != 0,
		.accepted = number[FIELD_ACCEPTED] != 0,
		.tried = number[FIELD_TRIED] != 0,
		.full = number[FIELD_FULL] != 0,
		.probed = number[FIELD_PROBED] != 0,
		.chosen = number[FIELD_CHOSEN] != 0,
		.open = event->is_open,
	};
	/* these two share a place */
	if (event->kind != KIND_IO)
		extra->relock_ns = number[FIELD_RELOCK];
	else if (!reading_string(reading, number[FIELD_REQUEST], &extra->request_kind))
		return false;
	else
		extra->request_bytes = (uint32_t)number[FIELD_REQUEST_BYTES];
	return reading_string(reading, number[FIELD_OTHER_IDENT], &extra->other_ident) &&
	       event_stack(reading, number[FIELD_STACK], &extra->stack);
}

static bool add_link(struct reading *reading, const struct rec_link *link)
{
	struct recording *recording = reading->recording;

	if (!reading_reserve(reading, &recording->links, &reading->link_capacity,
			     recording->link_count, sizeof(*recording->links)))
		return false;
	recording->links[recording->link_count++] = *link;
	return true;
}

/* A value that an op's own line has, as a link that has it. */
static bool add_value(struct reading *reading, const struct rec_op *op, uint32_t id, uint64_t name,
		      uint64_t number, uint64_t text, bool is_real)
{
	struct rec_link link = {
		.at_ns = op->end_ns,
		.from = id,
		.to = NO_INDEX,
		.thread = op->thread,
		.kind = LINK_VALUE,
		.is_text = text != 0,
		.is_real = is_real,
	};
	uint32_t string;

	if (name == 0)
		return true;
	if (!reading_string(reading, name, &link.ident) || !reading_string(reading, text, &string))
		return false;
	link.result = text ? string : number;
	return add_link(reading, &link);
}

static bool add_values(struct reading *reading, const struct event *event, const struct rec_op *op,
		       uint32_t id)
{
	const uint64_t *number = event->number;

	return add_value(reading, op, id, number[FIELD_VALUE_NAME], number[FIELD_VALUE],
			 number[FIELD_TEXT], number[FIELD_REAL] != 0) &&
	       add_value(reading, op, id, number[FIELD_VALUE2_NAME], number[FIELD_VALUE2],
			 number[FIELD_TEXT2], false);
}

/* The ops that stand for a whole thread or process. */
static void note_owner(struct reading *reading, const struct rec_op *op, uint32_t id)
{
	struct recording *recording = reading->recording;

	if (op->kind == KIND_PROCESS && recording->processes[reading->dump.process].op == NO_INDEX)
		recording->processes[reading->dump.process].op = id;
	if (op->kind == KIND_THREAD && op->thread != NO_INDEX &&
	    recording->threads[op->thread].op == NO_INDEX)
		recording->threads[op->thread].op = id;
}

bool event_add_op(struct reading *reading, const struct event *event)
{
	struct recording *recording = reading->recording;
	struct rec_op_extra extra;
	struct rec_op op = {
		.dump_id = event->number[FIELD_ID],
		.kind = (uint16_t)event->kind,
		.work = event->work >= 0 ? (uint8_t)event->work : words_kind_work(event->kind),
		.outcome = (uint8_t)event->outcome,
	};
	uint32_t id, place;

	if (op.dump_id == 0)
		return reading_fail_here(reading, "an op without an id");
	if (!event_times(reading, event, &op.start_ns, &op.end_ns) ||
	    !op_strings(reading, event, &op) || !op_extra(reading, event, &extra) ||
	    !event_thread(reading, event->number[FIELD_THREAD], &op.thread) ||
	    !event_id(reading, op.dump_id, &id) ||
	    !event_id(reading, event->number[FIELD_PARENT], &op.parent) ||
	    !op_place(reading, event, id, op.end_ns, &place))
		return false;
	if (place == NO_INDEX)
		return true;
	if (!recording->extras && has_extra(event) && !extras_begin(reading))
		return false;
	extra.shared = op.kind == KIND_HOLD && strcmp(recording->strings[op.ident], "read") == 0;
	recording->ops[place] = op;
	reading->op_lines[place] = (uint32_t)reading->line;
	if (recording->extras)
		recording->extras[place] = extra;
	note_owner(reading, &op, id);
	return add_values(reading, event, &op, id);
}

bool event_add_wait(struct reading *reading, const struct event *event)
{
	struct recording *recording = reading->recording;
	struct rec_wait wait = {
		.address = event->number[FIELD_ADDRESS],
		.reason = (uint16_t)event->reason,
		.open = event->is_open,
		.timed_out = event->number[FIELD_TIMED_OUT] != 0,
		.asked_ns = event->number[FIELD_REQUESTED],
		.owner_died = event->number[FIELD_OWNER_DIED] != 0,
		.holder = NO_INDEX,
		.holder_tid = event->number[FIELD_HOLDER] <= INT32_MAX
				      ? (uint32_t)event->number[FIELD_HOLDER]
				      : 0,
	};

	if (!event_times(reading, event, &wait.start_ns, &wait.end_ns) ||
	    !reading_string(reading, event->number[FIELD_IDENT], &wait.ident) ||
	    !reading_string(reading, event->number[FIELD_CLASS], &wait.name) ||
	    !event_stack(reading, event->number[FIELD_STACK], &wait.stack) ||
	    !event_thread(reading, event->number[FIELD_THREAD], &wait.thread) ||
	    !event_id(reading, event->number[FIELD_PARENT], &wait.waiter) ||
	    !event_id(reading, event->number[FIELD_TARGET], &wait.target))
		return false;
	if (!reading_reserve(reading, &recording->waits, &reading->wait_capacity,
			     recording->wait_count, sizeof(*recording->waits)))
		return false;
	recording->waits[recording->wait_count++] = wait;
	reading->open_wait_count += event->is_open;
	return true;
}

bool event_add_link(struct reading *reading, const struct event *event)
{
	uint64_t count = event->number[FIELD_AMOUNT];
	struct rec_link link = {
		.result = event->number[FIELD_RESULT],
		.address = event->number[FIELD_ADDRESS],
		.kind = (uint16_t)event->link,
		.count = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX,
		.all = event->number[FIELD_ALL] != 0,
	};

	uint32_t text = 0;

	link.at_ns = event->number[FIELD_START] + reading->dump.offset_ns;
	if (!check_time(reading, event->number[FIELD_START]) ||
	    !reading_string(reading, event->number[FIELD_IDENT], &link.ident) ||
	    !event_stack(reading, event->number[FIELD_STACK], &link.stack) ||
	    !event_thread(reading, event->number[FIELD_THREAD], &link.thread) ||
	    !event_id(reading, event->number[FIELD_PARENT], &link.from) ||
	    !event_id(reading, event->number[FIELD_TARGET], &link.to) ||
	    !reading_string(reading, event->number[FIELD_TEXT], &text))
		return false;
	if (link.kind == LINK_VALUE) {
		link.is_text = text != 0;
		link.is_real = event->number[FIELD_REAL] != 0;
		link.result = text ? text : event->number[FIELD_VALUE];
	}
	return add_link(reading, &link);
}

bool event_add_sample(struct reading *reading, const struct event *event)
{
	struct recording *recording = reading->recording;
	uint64_t cpu_number = event->number[FIELD_AMOUNT];
	struct rec_sample sample = {
		.at_ns = event->number[FIELD_START] + reading->dump.offset_ns,
		.cpu_ns = event->number[FIELD_CPU],
		.queued_ns = event->number[FIELD_QUEUED],
		.cpu_number = cpu_number < UINT32_MAX ? (uint32_t)cpu_number : UINT32_MAX,
	};

	if (event->number[FIELD_THREAD] == 0)
		return reading_fail_here(reading, "a sample that names no thread");
	if (!check_time(reading, event->number[FIELD_START]) ||
	    !check_time(reading, sample.cpu_ns) ||
	    !event_stack(reading, event->number[FIELD_STACK], &sample.stack) ||
	    !event_thread(reading, event->number[FIELD_THREAD], &sample.thread) ||
	    !event_id(reading, event->number[FIELD_PARENT], &sample.op))
		return false;
	if (!reading_reserve(reading, &recording->samples, &reading->sample_capacity,
			     recording->sample_count, sizeof(*recording->samples)))
		return false;
	recording->samples[recording->sample_count++] = sample;
	return true;
}

bool event_add_context(struct reading *reading, const struct event *event)
{
	struct recording *recording = reading->recording;
	struct rec_context context = {
		.at_ns = event->number[FIELD_START] + reading->dump.offset_ns,
		.ids = event->ids,
	};

	if (event->number[FIELD_THREAD] == 0)
		return reading_fail_here(reading, "a trace context that names no thread");
	if (!check_time(reading, event->number[FIELD_START]) ||
	    !event_thread(reading, event->number[FIELD_THREAD], &context.thread))
		return false;
	if (!reading_reserve(reading, &recording->contexts, &reading->context_capacity,
			     recording->context_count, sizeof(*recording->contexts)))
		return false;
	recording->contexts[recording->context_count++] = context;
	return true;
}
