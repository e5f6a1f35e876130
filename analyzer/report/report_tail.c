/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Report: what have the slowest requests more of than usual ones?
 */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

#include "activities.h"
#include "base/memory.h"
#include "measure/values.h"
#include "report.h"
#include "requestvalues.h"
#include "slowest.h"
#include "tailed.h"

enum {
	SLICES_SHOWN = 12,
	RANGE_BYTES = 2 * EMIT_DURATION_BYTES + 8,
	SENTENCE_BYTES = 4 * EMIT_DURATION_BYTES + 256
};

static const char *const example_words[TAIL_EXAMPLES] = {
	[TAIL_SLOWEST] = "slowest", [TAIL_FIRST] = "tail", [TAIL_MEDIAN] = "median"
};

static void emit_interval(struct emit *emit, const struct bootstrap_interval *interval)
{
	char least[EMIT_DURATION_BYTES], most[EMIT_DURATION_BYTES], text[RANGE_BYTES];
	if (emit->format == EMIT_JSON) {
		emit_cell_ns(emit, interval->least);
		emit_cell_ns(emit, interval->most);
		return;
	}
	emit_format_duration(least, interval->least);
	emit_format_duration(most, interval->most);
	snprintf(text, sizeof(text), "%s..%s", least, most);
	emit_cell_text(emit, text);
}

static void emit_parts(const struct analysis *analysis, const struct tail *tail, struct emit *emit)
{
	bool is_text = emit->format == EMIT_TEXT;
	const struct emit_column text_columns[] = {
		{ .head = "part" },
		{ .head = "of", .is_flexible = true },
		{ .head = "by", .is_flexible = true },
		{ .head = "body", .align = EMIT_RIGHT },
		{ .head = "tail", .align = EMIT_RIGHT },
		{ .head = "more", .align = EMIT_RIGHT },
		{ .head = "95% interval", .align = EMIT_RIGHT },
	};
	static const struct emit_column json_columns[] = {
		{ .key = "kind" },     { .key = "name" },    { .key = "by" },
		{ .key = "body_ns" },  { .key = "tail_ns" }, { .key = "more_ns" },
		{ .key = "least_ns" }, { .key = "most_ns" }, { .key = "is_told" },
	};
	const char *const *strings = analysis->recording->strings;
	size_t count = is_text ? tail->told_count : tail->part_count, small = 0;
	emit_table_begin(emit, "tail_parts", EMIT_OBJECTS, is_text ? text_columns : json_columns,
			 is_text ? 7 : 9);
	for (size_t i = 0; i < count && !(is_text && i >= analysis->options->top); i++) {
		const struct tail_part *row = &tail->parts[i];
		if (is_text && fabs(row->more_ns.value) < tail->whole.more_ns.value / 100) {
			small++;
			continue;
		}
		struct path_part part = path_parts_at(&analysis->paths.parts, row->key);
		emit_row_begin(emit);
		emit_cell_text(emit, path_kind_word(part.kind));
		emit_cell_text(emit, strings[part.name]);
		emit_cell_text(emit, strings[part.by]);
		emit_cell_ns(emit, row->body_ns);
		emit_cell_ns(emit, row->tail_ns);
		emit_cell_ns(emit, row->more_ns.value);
		emit_interval(emit, &row->more_ns);
		if (!is_text)
			emit_cell_flag(emit, i < tail->told_count);
		emit_row_end(emit);
	}
	emit_table_end(emit);
	char untold[EMIT_DURATION_BYTES];
	emit_format_duration(untold, tail->untold_ns);
	if (is_text && tail->part_count > tail->told_count)
		emit_line(emit, "Left out: %zu parts that chance may explain, %s in all.",
			  tail->part_count - tail->told_count, untold);
	if (small)
		emit_line(emit, "Left out: %zu parts of less than 1%% of the difference.", small);
}

/* Three requests, each with what its thread did. */
static void emit_examples(const struct analysis *analysis, const struct tailed *tailed,
			  struct emit *emit)
{
	static const struct emit_column columns[] = {
		{ .key = "request", .head = "request" },
		{ .key = "at_ns", .head = "at", .align = EMIT_RIGHT },
		{ .key = "length_ns", .head = "for", .align = EMIT_RIGHT },
		{ .key = "state", .head = "its thread was" },
		{ .key = "what", .head = "in", .is_flexible = true },
		{ .key = "waker", .head = "let go by", .is_flexible = true },
	};
	struct activities *activities =
		tailed->tail.state == TAIL_KNOWN ? activities_new(analysis) : NULL;
	emit_table_begin(emit, "tail_timelines", EMIT_OBJECTS, columns, 6);
	for (size_t e = 0; e < TAIL_EXAMPLES && activities; e++) {
		uint32_t index = tailed->requests[tailed->tail.examples[e]];
		const struct request *request = &analysis->script.requests.requests[index];
		uint64_t left_out_ns;
		size_t count;
		if (request->thread == NO_INDEX)
			continue;
		struct activity *all =
			activities_of(activities, request->thread, request->start_ns,
				      request->end_ns, SLICES_SHOWN, &count, &left_out_ns);
		for (size_t i = 0; i < count; i++) {
			emit_row_begin(emit);
			emit_cell_text(emit,
				       i && emit->format == EMIT_TEXT ? "" : example_words[e]);
			emit_cell_ns(emit, (double)(all[i].start_ns - request->start_ns));
			emit_cell_ns(emit, (double)(all[i].end_ns - all[i].start_ns));
			emit_cell_text(emit, activities_word(all[i].state));
			emit_cell_text(emit, all[i].what);
			emit_cell_text(emit, all[i].waker == NO_INDEX
						     ? ""
						     : facts_thread_name(analysis, all[i].waker));
			emit_row_end(emit);
		}
		free(all);
	}
	emit_table_end(emit);
	if (activities)
		activities_free(activities);
}

/* A line of text, or a row of JSON. */
static void __attribute__((format(printf, 2, 3))) say(struct emit *emit, const char *format, ...)
{
	char sentence[SENTENCE_BYTES];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(sentence, sizeof(sentence), format, arguments);
	va_end(arguments);
	if (emit->format == EMIT_TEXT) {
		emit_line(emit, "%s", sentence);
		return;
	}
	emit_row_begin(emit);
	emit_cell_text(emit, sentence);
	emit_row_end(emit);
}

static void say_cohorts(const struct tail *tail, struct emit *emit)
{
	char from[EMIT_DURATION_BYTES], least[EMIT_DURATION_BYTES], most[EMIT_DURATION_BYTES];
	char more[EMIT_DURATION_BYTES];
	emit_format_duration(from, (double)tail->tail_least_ns);
	emit_format_duration(least, (double)tail->body_least_ns);
	emit_format_duration(most, (double)tail->body_most_ns);
	emit_format_duration(more, tail->whole.more_ns.value);
	if (tail->percent < tail->asked)
		say(emit, "%zu requests have no p%g that could be told from chance: p%g.",
		    tail->count, tail->asked, tail->percent);
	say(emit,
	    "The %zu requests from p%g on (%s or longer) take %s more than the %zu around the "
	    "median (p%d to p%d: %s to %s). Per request:",
	    tail->tail_count, tail->percent, from, more, tail->body_count, TAIL_BODY_FROM,
	    TAIL_BODY_TO, least, most);
}

static void say_why_not(const struct tail *tail, struct emit *emit)
{
	if (tail->state == TAIL_TOO_FEW)
		say(emit, "%zu requests are too few: a tail takes %d.", tail->count,
		    TAIL_REQUESTS_LEAST);
	else
		say(emit,
		    "p%g cannot be known: %zu of %zu requests were not finished, nobody "
		    "knows how long they take.",
		    tail->percent, tail->unfinished_count, tail->count);
}

/* Of which requests the parts are, or why there are none. */
static void emit_sentences(const struct tail *tail, struct emit *emit)
{
	static const struct emit_column columns[] = { { .key = "sentence" } };
	if (emit->format == EMIT_JSON)
		emit_table_begin(emit, "tail_sentences", EMIT_VALUES, columns, 1);
	if (tail->state == TAIL_KNOWN)
		say_cohorts(tail, emit);
	else
		say_why_not(tail, emit);
	if (emit->format == EMIT_JSON)
		emit_table_end(emit);
}

static void emit_numbers(const struct analysis *analysis, const struct tail *tail,
			 struct emit *emit)
{
	static const char *const states[] = {
		[TAIL_KNOWN] = "known", [TAIL_TOO_FEW] = "too few", [TAIL_UNFINISHED] = "unfinished"
	};
	char percent[16];
	snprintf(percent, sizeof(percent), "p%g", tail->percent);
	emit_text(emit, "tail", NULL, states[tail->state]);
	emit_text(emit, "tail_percentile", NULL, percent);
	emit_count(emit, "tail_requests", NULL, tail->tail_count);
	emit_count(emit, "body_requests", NULL, tail->body_count);
	emit_ns(emit, "tail_from_ns", NULL, (double)tail->tail_least_ns);
	emit_ns(emit, "tail_untold_ns", NULL, tail->untold_ns);
	char *answer = slowest_sentence(tail, &analysis->paths.parts, analysis->recording->strings);
	emit_text(emit, "tail_answer", NULL, answer ? answer : "");
	free(answer);
}

static struct value_request *list_requests(const struct analysis *analysis,
					   const struct tailed *tailed)
{
	const struct request *requests = analysis->script.requests.requests;
	struct value_request *list = memory_new(tailed->tail.count, sizeof(*list));
	for (size_t i = 0; i < tailed->tail.count; i++) {
		list[i] = request_values_span(analysis, tailed->requests[i]);
		list[i].is_slow =
			requests[tailed->requests[i]].taken_ns >= tailed->tail.tail_least_ns;
	}
	return list;
}

/* Which argument makes a request slow, where functions were probed. */
static void emit_values(const struct analysis *analysis, const struct tailed *tailed,
			struct emit *emit)
{
	static const struct emit_column columns[] = {
		{ .key = "class", .head = "probed function", .is_flexible = true },
		{ .key = "name", .head = "value" },
		{ .key = "slow", .head = "in slow requests: median (range)" },
		{ .key = "usual", .head = "in the others" },
	};
	struct value_request *requests = list_requests(analysis, tailed);
	struct value_table table;
	value_table_build_in(&table, analysis->recording, &analysis->classes, requests,
			     tailed->tail.count);
	if (table.count)
		emit_table_begin(emit, "tail_values", EMIT_OBJECTS, columns,
				 sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < table.count; i++) {
		const struct value_row *row = &table.rows[i];
		emit_row_begin(emit);
		emit_cell_text(emit, facts_class_name(analysis, row->class));
		emit_cell_text(emit, analysis->recording->strings[row->name]);
		report_value_range(analysis, emit, row, &row->slow);
		report_value_range(analysis, emit, row, &row->usual);
		emit_row_end(emit);
	}
	if (table.count)
		emit_table_end(emit);
	value_table_free(&table);
	free(requests);
}

void report_tail(const struct analysis *analysis, struct emit *emit)
{
	bool is_text = emit->format == EMIT_TEXT;
	struct tailed tailed;
	bool has_any = tailed_build(&tailed, analysis, tailed_asked(analysis->options));
	if (!has_any && is_text)
		return;
	emit_heading(emit, "What have the slowest requests more of?");
	if (!is_text)
		emit_numbers(analysis, &tailed.tail, emit);
	emit_sentences(&tailed.tail, emit);
	if (!is_text || tailed.tail.state == TAIL_KNOWN) {
		emit_parts(analysis, &tailed.tail, emit);
		emit_examples(analysis, &tailed, emit);
	}
	if (tailed.tail.state == TAIL_KNOWN)
		emit_values(analysis, &tailed, emit);
	tailed_free(&tailed);
}
