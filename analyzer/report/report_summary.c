/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Report: what was recorded, what the figures rest on, and in one sentence what would help most.
 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "checks_parts.h"
#include "confidence.h"
#include "format.h"
#include "machines.h"
#include "owncost.h"
#include "report.h"
#include "served.h"
#include "slowest.h"
#include "tailed.h"

/* A thread that is busy for more of the time has no room for more requests. */
static const double LIMITS_PERCENT = 90;

enum { SCREEN_WARNINGS = 3, LIST_BYTES = CHECK_COUNT * 64, RANGE_BYTES = 64 };

static const double WORTH_SAYING_PERCENT = 0.1, SLOW_PERCENT = 99;

/* One of the first lines: a row of JSON. */
static void __attribute__((format(printf, 2, 3))) say(struct emit *emit, const char *format, ...)
{
	va_list arguments;
	char *sentence = NULL;
	va_start(arguments, format);
	int length = vasprintf(&sentence, format, arguments);
	va_end(arguments);
	if (length < 0)
		return;
	if (emit->format == EMIT_TEXT) {
		emit_strong_line(emit, "%s", sentence);
	} else {
		emit_row_begin(emit);
		emit_cell_text(emit, sentence);
		emit_row_end(emit);
	}
	free(sentence);
}

/* The answer, behind what it is worth. */
static void emit_answer(const struct analysis *analysis, struct emit *emit, const char *before)
{
	struct served served;
	if (served_find(analysis, &served)) {
		char *sentence = served_sentence(analysis, &served);
		say(emit, "%s%s", before, sentence);
		free(sentence);
		served_free(&served);
		return;
	}
	const struct whatif *whatif = &analysis->whatif;
	size_t at = report_sentence_factor(&analysis->options->factors);
	const struct whatif_row *best = confidence_best(analysis, at);
	double percent = best && whatif->baseline.makespan_ns > 0
				 ? 100 * best->estimates[at].saved_ns / whatif->baseline.makespan_ns
				 : 0;
	if (percent < WORTH_SAYING_PERCENT) {
		say(emit, "%sNo single class, made faster, would end the run any sooner.", before);
		return;
	}
	char *change = report_change(analysis, best->class, at);
	char range[RANGE_BYTES] = "";
	if (confidence_is_wide(analysis, best, at))
		snprintf(range, sizeof(range), " (%.1f to %.1f%%)",
			 percent * best->estimates[at].least_ns / best->estimates[at].saved_ns,
			 percent * best->estimates[at].most_ns / best->estimates[at].saved_ns);
	say(emit, "%sIf %s, the run would end %.1f%% sooner%s.", before, change, percent, range);
	free(change);
}

/* Without an answer there is what was recorded. */
static void emit_recorded(const struct analysis *analysis, struct emit *emit)
{
	struct served served;
	if (!served_find(analysis, &served))
		return;
	char *sentence = served_sentence(analysis, &served);
	say(emit, "As recorded: %s", sentence);
	free(sentence);
	served_free(&served);
}

/* The recording's own answer, where the replay has none or another one. */
static void emit_other_answer(const struct analysis *analysis, struct emit *emit)
{
	const struct variation_row *row = confidence_other_answer(analysis);
	double makespan_ns = (double)analysis->actual_makespan_ns;
	if (row)
		say(emit,
		    "From the recording's own variation: if `%s` (%s) took half as long, the run "
		    "would end %.1f +- %.1f%% sooner.",
		    facts_class_name(analysis, row->class), facts_class_kind(analysis, row->class),
		    100 * HALF * row->saved_ns / makespan_ns,
		    100 * HALF * row->error_ns / makespan_ns);
}

static void emit_sentence(const struct analysis *analysis, struct emit *emit)
{
	static const struct emit_column columns[] = { { .key = "sentence" } };
	char why[CONFIDENCE_BYTES], before[CONFIDENCE_BYTES + 24];
	enum confidence confidence = confidence_of(analysis, why);
	if (emit->format == EMIT_JSON)
		emit_table_begin(emit, "sentences", EMIT_VALUES, columns, 1);
	if (confidence == CONFIDENCE_SURE)
		snprintf(before, sizeof(before), "Sure: ");
	else if (confidence == CONFIDENCE_FAIR)
		snprintf(before, sizeof(before), "Fair (%s): ", why);
	if (confidence == CONFIDENCE_WITHHELD)
		say(emit, "Withheld: %s.", why);
	else
		emit_answer(analysis, emit, before);
	if (confidence == CONFIDENCE_WITHHELD && !analysis->checks.is_withheld)
		emit_answer(analysis, emit, "Not sure at all: ");
	else if (confidence == CONFIDENCE_WITHHELD)
		emit_recorded(analysis, emit);
	emit_other_answer(analysis, emit);
	if (emit->format == EMIT_JSON)
		emit_table_end(emit);
	emit_text(emit, "confidence", NULL, confidence_word(confidence));
	emit_text(emit, "confidence_reason", NULL, why);
}

/* The first screen of a server: why are some requests slower than others? */
static void emit_slowest(const struct analysis *analysis, struct emit *emit)
{
	struct tailed tailed;
	if (!emit->is_screen || analysis->script.requests.judged_source == REQUEST_LOCK ||
	    !tailed_build(&tailed, analysis, SLOW_PERCENT))
		return;
	char *sentence = slowest_sentence(&tailed.tail, &analysis->paths.parts,
					  analysis->recording->strings);
	if (sentence)
		emit_line(emit, "%s", sentence);
	free(sentence);
	tailed_free(&tailed);
}

static void emit_warnings(const struct analysis *analysis, struct emit *emit)
{
	static const struct emit_column columns[] = { { .key = "warning" } };
	if (emit->format == EMIT_TEXT) {
		char why[CONFIDENCE_BYTES];
		(void)confidence_of(analysis, why);
		/* The first line has said the gravest one. */
		size_t more = 0, shown = 0, most = SIZE_MAX;
		if (emit->is_screen)
			most = analysis->checks.is_withheld ? 0 : SCREEN_WARNINGS;
		for (size_t i = 0; i < analysis->warning_count; i++) {
			if (strstr(why, analysis->warnings[i]))
				continue;
			if (shown == most)
				more++;
			else
				emit_strong_line(emit, "warning: %s", analysis->warnings[i]);
			shown += !more;
		}
		if (more > 0)
			emit_line(emit, "%zu more warning%s: wcprof-analyze summary DUMP", more,
				  more == 1 ? "" : "s");
		return;
	}
	emit_table_begin(emit, "warnings", EMIT_VALUES, columns, 1);
	for (size_t i = 0; i < analysis->warning_count; i++) {
		emit_row_begin(emit);
		emit_cell_text(emit, analysis->warnings[i]);
		emit_row_end(emit);
	}
	emit_table_end(emit);
}

static void emit_place(struct emit *emit, const struct place *place)
{
	emit_cell_text(emit, place->action ? place->thread : "");
	emit_cell_count(emit, place->action ? place->tid : 0);
	emit_cell_text(emit, place->action ? place->action : "");
	emit_cell_text(emit, place->action ? place->object : "");
	emit_cell_text(emit, place->action ? place->site : "");
}

static const char spinning_unknown[] =
	"threads that spin (poll memory on a CPU until another one writes): less than half of the "
	"CPU time has samples of code that is here (WCPROF_SAMPLE_HZ)";

static bool is_spinning_unknown(const struct analysis *analysis)
{
	return analysis->has_script && analysis->checks.rows[CHECK_SPINNING].state == CHECK_UNKNOWN;
}

static void list_add(char list[LIST_BYTES], const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void list_add(char list[LIST_BYTES], const char *format, ...)
{
	size_t length = strlen(list);
	va_list arguments;
	if (length > 0)
		length += (size_t)snprintf(list + length, LIST_BYTES - length, ", ");
	va_start(arguments, format);
	vsnprintf(list + length, LIST_BYTES - length, format, arguments);
	va_end(arguments);
}

/* On the first screen: those that did not pass, with their limits. */
static void emit_unpassed(const struct analysis *analysis, struct emit *emit)
{
	char failed[LIST_BYTES] = "";
	int passed = 0, unknown = 0;
	for (enum check_id id = 0; id < CHECK_COUNT; id++) {
		const struct check *check = &analysis->checks.rows[id];
		passed += check->state == CHECK_PASSED;
		if (check->state >= CHECK_FAILED)
			list_add(failed, "%s %.1f%% (limit %g%%)", verdict_check_name(id),
				 check->value, verdict_failed_above(id));
		unknown += check->state == CHECK_UNKNOWN;
	}
	emit_labelled(emit, "Checks", "%d passed, %d not made%s%s", passed, unknown,
		      failed[0] ? "; failed: " : "", failed);
}

static void emit_all_checks(const struct analysis *analysis, struct emit *emit)
{
	char line[LIST_BYTES] = "";
	bool has_failed = false;
	for (enum check_id id = 0; id < CHECK_COUNT; id++) {
		const struct check *check = &analysis->checks.rows[id];
		has_failed |= check->state > CHECK_PASSED;
		if (check->state != CHECK_UNKNOWN)
			list_add(line, "%s %.1f%%%s", verdict_check_name(id), check->value,
				 check->state == CHECK_PASSED ? "" : " (!)");
	}
	emit_labelled(emit, "Checks", "%s: %s", has_failed ? "not all passed" : "all passed", line);
}

/* Checks made before anything was ranked: rows of JSON. */
static void emit_check_rows(const struct analysis *analysis, struct emit *emit)
{
	static const struct emit_column columns[] = {
		{ .key = "check" },          { .key = "percent" }, { .key = "failed_above" },
		{ .key = "withheld_above" }, { .key = "state" },   { .key = "cause" },
		{ .key = "thread" },         { .key = "tid" },     { .key = "wait" },
		{ .key = "object" },         { .key = "site" },    { .key = "advice" },
	};
	emit_table_begin(emit, "checks", EMIT_OBJECTS, columns,
			 sizeof(columns) / sizeof(columns[0]));
	for (enum check_id id = 0; id < CHECK_COUNT; id++) {
		const struct check *check = &analysis->checks.rows[id];
		emit_row_begin(emit);
		emit_cell_text(emit, verdict_check_name(id));
		emit_cell_percent(emit, check->value);
		emit_cell_percent(emit, verdict_failed_above(id));
		emit_cell_percent(emit, verdict_withheld_above(id));
		emit_cell_text(emit, verdict_state_word(check->state));
		emit_cell_text(emit, id == CHECK_SPINNING && is_spinning_unknown(analysis)
					     ? spinning_unknown
					     : check->line);
		emit_place(emit, &check->place);
		emit_cell_text(emit, check->state < CHECK_FAILED ? "" : verdict_advice(id));
		emit_row_end(emit);
	}
	emit_table_end(emit);
}

static void emit_checks(const struct analysis *analysis, struct emit *emit)
{
	if (emit->format == EMIT_JSON)
		emit_check_rows(analysis, emit);
	else if (emit->is_screen)
		emit_unpassed(analysis, emit);
	else
		emit_all_checks(analysis, emit);
	if (is_spinning_unknown(analysis) && !emit->is_screen)
		emit_labelled(emit, "Not looked for", "%s", spinning_unknown);
	emit_text(emit, "answers", NULL, analysis->checks.is_withheld ? "withheld" : "given");
	emit_count(emit, "forced_steps", NULL, analysis->whatif.baseline.forced_steps);
}

/* Losses and costs of recording itself, as the dumps say it. */
static void emit_counters(const struct analysis *analysis, struct emit *emit)
{
	static const struct emit_column columns[] = {
		{ .key = "process" },
		{ .key = "name" },
		{ .key = "value" },
	};
	const struct recording *recording = analysis->recording;
	emit_table_begin(emit, "counters", EMIT_OBJECTS, columns,
			 sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < recording->counter_count; i++) {
		const struct rec_counter *counter = &recording->counters[i];
		emit_row_begin(emit);
		emit_cell_count(emit, counter->process < recording->process_count
					      ? recording->processes[counter->process].pid
					      : 0);
		emit_cell_text(emit, recording->strings[counter->name]);
		emit_cell_count(emit, counter->value);
		emit_row_end(emit);
	}
	emit_table_end(emit);
}

static void emit_counter_sum(const struct analysis *analysis, struct emit *emit, size_t first)
{
	const struct recording *recording = analysis->recording;
	uint32_t name = recording->counters[first].name;
	const char *meaning = report_counter_meaning(recording->strings[name]);
	uint64_t sum = 0;
	for (size_t i = first; i < recording->counter_count; i++)
		sum += recording->counters[i].name == name ? recording->counters[i].value : 0;
	emit_labelled(emit, recording->strings[name], "%" PRIu64 "%s%s", sum, meaning ? ": " : "",
		      meaning ? meaning : "");
}

/* The counter is told here: of what could not be seen a report of its own tells. The first screen
 * leaves out what was left out as it does no harm. */
static bool is_told(const struct analysis *analysis, const struct emit *emit, size_t at)
{
	const struct rec_counter *counter = &analysis->recording->counters[at];
	const char *name = analysis->recording->strings[counter->name];
	return counter->value > 0 && !report_counter_is_unseen(name) &&
	       (!emit->is_screen || report_counter_is_loss(name));
}

/* Text: those of all processes together. */
static void emit_counter_sums(const struct analysis *analysis, struct emit *emit)
{
	const struct recording *recording = analysis->recording;
	bool has_any = false;
	for (size_t i = 0; i < recording->counter_count; i++) {
		bool is_first = true;
		for (size_t k = 0; k < i && is_first; k++)
			is_first = recording->counters[k].name != recording->counters[i].name ||
				   !is_told(analysis, emit, k);
		if (!is_first || !is_told(analysis, emit, i))
			continue;
		if (!has_any)
			emit_heading(emit, "What did the recording leave out or lose?");
		has_any = true;
		emit_counter_sum(analysis, emit, i);
	}
}

static void emit_baseline(const struct analysis *analysis, struct emit *emit)
{
	const struct replay_answer *baseline = &analysis->whatif.baseline;
	char recorded[EMIT_DURATION_BYTES], replayed[EMIT_DURATION_BYTES];
	emit_ns(emit, "trace_span_ns", NULL, (double)analysis->span_ns);
	emit_ns(emit, "actual_makespan_ns", NULL, (double)analysis->actual_makespan_ns);
	emit_ns(emit, "baseline_makespan_ns", NULL, baseline->makespan_ns);
	emit_count(emit, "broken_cycles", NULL, baseline->broken_cycles);
	emit_count(emit, "fallback_anchors", NULL, baseline->fallback_anchors);
	emit_format_duration(recorded, (double)analysis->actual_makespan_ns);
	emit_format_duration(replayed, analysis->whatif.recorded.makespan_ns);
	emit_labelled(emit, "Makespan", "%s recorded, %s replayed unchanged (%+.2f%%%s)", recorded,
		      replayed, facts_drift_percent(analysis),
		      facts_recorded_ns(analysis) < (double)analysis->actual_makespan_ns
			      ? " of the load"
			      : "");
	if (baseline->makespan_ns >= analysis->whatif.recorded.makespan_ns)
		return;
	emit_format_duration(replayed, baseline->makespan_ns);
	emit_labelled(emit, "Savings",
		      "are parts of %s: what recording took to begin in each process is left out",
		      replayed);
}

/* The time that requests per second, gains and checks are of. */
static void emit_load(const struct analysis *analysis, struct emit *emit)
{
	static const struct asking nothing = { .pause_count = 0 };
	const struct asking *asking =
		analysis->has_script ? &analysis->script.requests.asking : &nothing;
	char took[EMIT_DURATION_BYTES], paused[EMIT_DURATION_BYTES];
	emit_ns(emit, "load_ns", NULL,
		(double)(asking->to_ns - asking->from_ns - asking->paused_ns));
	emit_ns(emit, "paused_ns", NULL, (double)asking->paused_ns);
	emit_count(emit, "pauses", NULL, asking->pause_count);
	if (emit->format != EMIT_TEXT || !asking->pause_count)
		return;
	emit_format_duration(took, facts_recorded_ns(analysis));
	emit_format_duration(paused, (double)asking->paused_ns);
	emit_labelled(emit, "Load", "%s, without the %s in which nobody asked (%zu pause%s)", took,
		      paused, asking->pause_count, asking->pause_count == 1 ? "" : "s");
}

static const char *clients_sort_word(const struct clients *clients)
{
	if (!clients->count)
		return "";
	return clients->sort == CLIENTS_OPEN ? "open" : "closed";
}

static const char *clients_end_word(const struct clients *clients)
{
	static const char *const words[] = { [CLIENTS_END_UNKNOWN] = "unknown",
					     [CLIENTS_END_INDEPENDENT] = "independent",
					     [CLIENTS_END_ONE_THREAD] = "one thread" };

	return clients->count ? words[clients->end] : "";
}

static double busy_percent(const struct clients *clients)
{
	return checks_percent((double)clients->busy_ns, (double)clients->asked_ns);
}

static void print_clients(const struct clients *clients, struct emit *emit)
{
	char think[EMIT_DURATION_BYTES];
	const char *why = clients->is_told ? "" : " (as it seems)";

	emit_format_duration(think, (double)clients->think_ns);
	if (clients->sort == CLIENTS_OPEN)
		emit_labelled(emit, "Clients", "%zu, not recorded, open%s: savings are latency",
			      clients->count, why);
	else if (clients->end == CLIENTS_END_ONE_THREAD)
		emit_labelled(emit, "Clients",
			      "%zu, not recorded, closed, served by one thread at the other end, "
			      "which is busy %.0f%% of the time%s",
			      clients->count, busy_percent(clients),
			      busy_percent(clients) < LIMITS_PERCENT ? "" : ": it limits the load");
	else
		emit_labelled(emit, "Clients",
			      "%zu, not recorded, closed%s: savings are throughput; each "
			      "asks %s after its answer",
			      clients->count, why, think);
}

static void emit_clients(const struct analysis *analysis, struct emit *emit)
{
	static const struct clients nobody = { .count = 0 };
	const struct clients *clients = analysis->has_script ? &analysis->script.clients : &nobody;

	emit_text(emit, "clients_sort", NULL, clients_sort_word(clients));
	emit_count(emit, "clients", NULL, clients->count);
	emit_count(emit, "clients_questions", NULL, clients->question_count);
	emit_text(emit, "clients_end", NULL, clients_end_word(clients));
	emit_count(emit, "clients_busy_percent", NULL, (uint64_t)(busy_percent(clients) + 0.5));
	emit_ns(emit, "clients_think_ns", NULL, (double)clients->think_ns);
	if (emit->format == EMIT_TEXT && clients->count)
		print_clients(clients, emit);
}

void report_summary(const struct analysis *analysis, struct emit *emit)
{
	const struct recording *recording = analysis->recording;
	emit_sentence(analysis, emit);
	emit_slowest(analysis, emit);
	emit_warnings(analysis, emit);
	emit_line(emit, "%s", "");
	emit_labelled(emit, "Recorded", "%zu ops, %zu waits, %zu links; %" PRIu64 " events dropped",
		      recording->op_count, recording->wait_count, recording->link_count,
		      recording->dropped_events);
	emit_count(emit, "ops", NULL, recording->op_count);
	machines_emit(recording, emit);
	owncost_emit(recording, emit);
	if (recording->open_op_count > 0 && !emit->is_screen)
		emit_labelled(emit, "Still open", "%zu ops at the time of the dump",
			      recording->open_op_count);
	emit_count(emit, "roots", NULL, analysis->graph.root_count);
	emit_count(emit, "open_ops", NULL, recording->open_op_count);
	emit_count(emit, "dropped_events", NULL, recording->dropped_events);
	emit_count(emit, "orphan_waits", NULL, analysis->graph.orphan_waits);
	emit_baseline(analysis, emit);
	shortening_print_base(analysis, emit);
	emit_load(analysis, emit);
	emit_clients(analysis, emit);
	emit_checks(analysis, emit);
	if (emit->format == EMIT_JSON)
		emit_counters(analysis, emit);
	else
		emit_counter_sums(analysis, emit);
}
