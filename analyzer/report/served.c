/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums up what the users of a server wait for; served.h has the contract.
 *
 * A recording is of a server if its program marks requests, or if connections were accepted in it.
 * A recorded client is a process that asks and has accepted no connection. To make it faster would
 * make the server no better.
 */
#include "served.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "format.h"
#include "recording/programs.h"
#include "report.h"
#include "several.h"

enum {
	NAME_BYTES = 2100, /* a class's, and how many are like it */
	BEST_ROWS = 3
};

static const double WORTH_SAYING_PERCENT = 0.1, RANGE_SHOWN_PERCENT = 0.5;

/* The process of an op, NO_INDEX = not known. */
static uint32_t process_of(const struct recording *recording, uint32_t op)
{
	uint32_t thread = recording->ops[op].thread;
	return thread < recording->thread_count ? recording->threads[thread].process : NO_INDEX;
}

/* By process: it asks, and has accepted nothing. False: nobody has accepted anything. */
static bool find_clients(const struct analysis *analysis, bool *is_client)
{
	const struct recording *recording = analysis->recording;
	const struct requests *requests = &analysis->script.requests;
	bool has_accepted = false;
	for (size_t i = 0; i < requests->count; i++) {
		const struct request *request = &requests->requests[i];
		uint32_t process = process_of(recording, request->op);
		if (request->source == REQUEST_ASKED && process != NO_INDEX)
			is_client[process] = true;
	}
	for (uint32_t i = 0; i < recording->op_count; i++) {
		uint32_t process = process_of(recording, i);
		has_accepted |= recording->extras[i].accepted;
		if (recording->extras[i].accepted && process != NO_INDEX)
			is_client[process] = false;
	}
	return has_accepted;
}

static bool is_program_of_clients(const struct recording *recording, uint32_t name,
				  const bool *is_client)
{
	for (uint32_t i = 0; i < recording->process_count; i++)
		if (!is_client[i] &&
		    strcmp(program_called(recording, i), recording->strings[name]) == 0)
			return false;
	return true;
}

static bool is_function_of_clients(const struct analysis *analysis, uint32_t function,
				   const bool *is_client, const bool *is_servers)
{
	const struct shares *shares = &analysis->script.shares;
	const struct function *of = &shares->functions[function];
	if (of->is_program)
		return is_program_of_clients(analysis->recording, of->name, is_client);
	for (uint32_t i = of->first; i < of->first + of->count; i++) {
		uint32_t leaf = analysis->script.scopes.scopes[shares->shares[i].scope].leaf;
		if (leaf == NO_INDEX || is_servers[leaf])
			return false;
	}
	return of->count > 0;
}

/* By row of the what-if table; allocated. */
static bool *find_rows_of_clients(const struct analysis *analysis, const bool *is_client)
{
	const struct recording *recording = analysis->recording;
	const struct whatif *whatif = &analysis->whatif;
	uint32_t classes = analysis->classes.count;
	bool *is_servers = memory_new(classes, sizeof(*is_servers));
	bool *is_of_clients = memory_new(whatif->row_count, sizeof(*is_of_clients));
	for (uint32_t i = 0; i < recording->op_count; i++) {
		uint32_t process = process_of(recording, i);
		if (process == NO_INDEX || !is_client[process])
			is_servers[analysis->classes.of_op[i]] = true;
	}
	for (size_t i = 0; i < whatif->row_count; i++) {
		uint32_t class = whatif->rows[i].class;
		is_of_clients[i] = class < classes
					   ? !is_servers[class]
					   : is_function_of_clients(analysis, class - classes,
								    is_client, is_servers);
	}
	free(is_servers);
	return is_of_clients;
}

static void measure(const struct analysis *analysis, struct served *served)
{
	request_figures_judged(&served->recorded, &analysis->script.requests);
	served->count = served->recorded.count;
	served->per_second = 1e9 * (double)served->count / facts_recorded_ns(analysis);
	served->is_p99_given =
		shortening_is_given(analysis, &served->recorded, REQUEST_P99, served->cause);
}

static double percent_of(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

/* Requests more in the same time, in percent, if so much of it is saved. */
static double percent_gained(const struct analysis *analysis, double saved_ns)
{
	double left_ns = facts_replayed_ns(analysis) - saved_ns;
	return left_ns > 0 ? 100 * saved_ns / left_ns : INFINITY;
}

/* Chance is nothing. */
static double p99_percent(const struct analysis *analysis, size_t row, size_t factor)
{
	const struct shortened *p99 =
		&analysis->whatif.rows[row].estimates[factor].requests[REQUEST_P99];
	if (!shortening_is_told(p99))
		return 0;
	return percent_of(p99->saved_ns, analysis->whatif.baseline.requests_ns[REQUEST_P99]);
}

static double gain_percent(const struct analysis *analysis, size_t row, size_t factor)
{
	return percent_gained(analysis, analysis->whatif.rows[row].estimates[factor].saved_ns);
}

/* A figure of a row, at a factor. */
typedef double figure_of(const struct analysis *, size_t row, size_t factor);

/* Beyond the row that is a part of it. */
static double own_percent(const struct analysis *analysis, size_t row, size_t factor,
			  figure_of *figure)
{
	const struct whatif *whatif = &analysis->whatif;
	const struct whatif_row *within = whatif_find(whatif, whatif->rows[row].within);
	double part = within ? figure(analysis, (size_t)(within - whatif->rows), factor) : 0;
	return figure(analysis, row, factor) - fmax(part, 0);
}

/* Of its own; SIZE_MAX = none is worth a word. */
static size_t find_most(const struct analysis *analysis, size_t factor, figure_of *figure,
			const bool *is_left_out)
{
	size_t best = SIZE_MAX;
	double most = WORTH_SAYING_PERCENT;
	for (size_t i = 0; i < analysis->whatif.row_count; i++) {
		double percent = own_percent(analysis, i, factor, figure);
		if (report_is_repeated(analysis, i) || is_left_out[i] || percent < most)
			continue;
		best = i;
		most = nextafter(percent, INFINITY);
	}
	return best;
}

bool served_find(const struct analysis *analysis, struct served *served)
{
	const struct requests *requests = &analysis->script.requests;
	*served = (struct served){ .shortest = SIZE_MAX, .busiest = SIZE_MAX };
	if (!analysis->has_script || !(facts_recorded_ns(analysis) > 0) ||
	    requests->judged_class == NO_INDEX || requests->judged_source == REQUEST_LOCK)
		return false;
	bool *is_client = memory_new(analysis->recording->process_count, sizeof(*is_client));
	bool has_accepted = find_clients(analysis, is_client);
	if (has_accepted || requests->judged_source == REQUEST_MARKED)
		measure(analysis, served);
	if (served->count)
		served->is_of_clients = find_rows_of_clients(analysis, is_client);
	free(is_client);
	if (!served->count)
		return false;
	served->factor = report_sentence_factor(&analysis->options->factors);
	if (!analysis->checks.is_withheld)
		served->busiest =
			find_most(analysis, served->factor, gain_percent, served->is_of_clients);
	if (served->is_p99_given)
		served->shortest =
			find_most(analysis, served->factor, p99_percent, served->is_of_clients);
	return true;
}

void served_free(struct served *served)
{
	free(served->is_of_clients);
}

static void say_p99(FILE *file, const struct analysis *analysis, const struct served *served)
{
	if (!served->is_p99_given) {
		fprintf(file, " What would shorten p99 is withheld: %s.", served->cause);
		return;
	}
	if (served->shortest == SIZE_MAX) {
		fputs(" No single class would surely shorten p99.", file);
		return;
	}
	char *change = report_change(analysis, analysis->whatif.rows[served->shortest].class,
				     served->factor);
	fprintf(file, " If %s, p99 would be %.1f%% shorter", change,
		p99_percent(analysis, served->shortest, served->factor));
	if (served->shortest == served->busiest)
		fprintf(file, " and throughput %.1f%% higher",
			gain_percent(analysis, served->busiest, served->factor));
	fputc('.', file);
	free(change);
}

/* The row of clients alone by which throughput would rise more than by any of the server; SIZE_MAX:
 * there is none. */
static size_t find_client(const struct analysis *analysis, const struct served *served)
{
	size_t count = analysis->whatif.row_count;
	bool *is_of_server = memory_new(count, sizeof(*is_of_server));
	double most = served->busiest == SIZE_MAX
			      ? 0
			      : gain_percent(analysis, served->busiest, served->factor);
	for (size_t i = 0; i < count; i++)
		is_of_server[i] = !served->is_of_clients[i];
	size_t row = find_most(analysis, served->factor, gain_percent, is_of_server);
	free(is_of_server);
	return row != SIZE_MAX && gain_percent(analysis, row, served->factor) > most ? row
										     : SIZE_MAX;
}

static void say_clients(FILE *file, const struct analysis *analysis, const struct served *served)
{
	size_t row = find_client(analysis, served);
	if (row == SIZE_MAX)
		return;
	char *change = report_change(analysis, analysis->whatif.rows[row].class, served->factor);
	fprintf(file, " In recorded clients there is more: %.1f%%, if %s.",
		gain_percent(analysis, row, served->factor), change);
	free(change);
}

static void say_throughput(FILE *file, const struct analysis *analysis, const struct served *served)
{
	if (served->busiest == SIZE_MAX) {
		fputs(" No single class would raise throughput.", file);
	} else if (served->busiest != served->shortest) {
		char *change = report_change(analysis, analysis->whatif.rows[served->busiest].class,
					     served->factor);
		fprintf(file, " Throughput would rise most, by %.1f%%, if %s.",
			gain_percent(analysis, served->busiest, served->factor), change);
		free(change);
	}
}

char *served_sentence(const struct analysis *analysis, const struct served *served)
{
	char p50[EMIT_DURATION_BYTES], p99[EMIT_DURATION_BYTES], took[EMIT_DURATION_BYTES];
	char *text = NULL;
	struct several several;
	size_t length;
	FILE *file = memory_stream(&text, &length);
	emit_format_duration(p50, served->recorded.ns[REQUEST_P50]);
	emit_format_duration(p99, served->recorded.ns[REQUEST_P99]);
	several_find(&several, analysis);
	emit_format_duration(took, facts_recorded_ns(analysis));
	fprintf(file, "%zu %s in %s, %.0f per second: p50 %s", served->count,
		several_noun(&several), took, served->per_second, p50);
	/* Few requests have no p99. */
	if (!isnan(served->recorded.ns[REQUEST_P99]))
		fprintf(file, ", p99 %s", p99);
	fputc('.', file);
	several_say(&several, file);
	if (!analysis->checks.is_withheld) {
		say_p99(file, analysis, served);
		say_throughput(file, analysis, served);
		say_clients(file, analysis, served);
	}
	fclose(file);
	return text;
}

void served_emit_gain(const struct analysis *analysis, struct emit *emit,
		      const struct estimate *estimate)
{
	double least = percent_gained(analysis, estimate->least_ns);
	double most = percent_gained(analysis, estimate->most_ns);
	char text[64];
	int used = snprintf(text, sizeof(text), "%+.1f%%",
			    percent_gained(analysis, estimate->saved_ns));
	if (most - least >= RANGE_SHOWN_PERCENT)
		snprintf(text + used, sizeof(text) - (size_t)used, " (%.1f..%.1f%%)", least, most);
	emit_cell_text(emit, text);
}

static void emit_fix(const struct analysis *analysis, struct emit *emit, size_t row, size_t factor)
{
	const struct whatif *whatif = &analysis->whatif;
	const struct estimate *estimate = &whatif->rows[row].estimates[factor];
	char name[NAME_BYTES];
	emit_row_begin(emit);
	emit_cell_text(emit, report_name_of_repeated(analysis, row, name, sizeof(name)));
	emit_cell_text(emit, facts_class_kind(analysis, whatif->rows[row].class));
	shortening_emit_saved(analysis, emit, REQUEST_P50, estimate);
	shortening_emit_saved(analysis, emit, REQUEST_P99, estimate);
	served_emit_gain(analysis, emit, estimate);
	emit_row_end(emit);
}

/* The rows that are best by a figure, the best one first. Returns how many there are. */
static size_t find_best(const struct analysis *analysis, const struct served *served,
			figure_of *figure, size_t most, size_t *rows)
{
	bool *is_taken = memory_new(analysis->whatif.row_count, sizeof(*is_taken));
	size_t count = 0;
	memcpy(is_taken, served->is_of_clients, analysis->whatif.row_count * sizeof(*is_taken));
	while (count < most) {
		size_t row = find_most(analysis, served->factor, figure, is_taken);
		if (row == SIZE_MAX)
			break;
		is_taken[row] = true;
		rows[count++] = row;
	}
	free(is_taken);
	return count;
}

static bool is_among(const size_t *rows, size_t count, size_t row)
{
	for (size_t i = 0; i < count; i++)
		if (rows[i] == row)
			return true;
	return false;
}

static void emit_fixes(const struct analysis *analysis, const struct served *served,
		       struct emit *emit, const size_t *rows, size_t count)
{
	const bool has_times = !analysis->checks.are_requests_withheld;
	const struct emit_column columns[] = {
		{ .head = "class", .is_flexible = true },
		{ .head = "kind", .yields = 1 },
		{ .head = has_times ? "p50 saved" : NULL, .align = EMIT_RIGHT },
		{ .head = has_times ? "p99 saved" : NULL, .align = EMIT_RIGHT },
		{ .head = "throughput (range)" },
	};
	emit_table_begin(emit, NULL, EMIT_OBJECTS, columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < count; i++)
		emit_fix(analysis, emit, rows[i], served->factor);
	emit_table_end(emit);
}

/* The best by either figure, each list whole. One table if both have the same rows. */
static void emit_lists(const struct analysis *analysis, const struct served *served,
		       struct emit *emit)
{
	size_t most = analysis->options->has_top ? analysis->options->top : BEST_ROWS;
	size_t room = most < analysis->whatif.row_count ? most : analysis->whatif.row_count;
	size_t *by_p99 = memory_new(room, sizeof(*by_p99));
	size_t *by_gain = memory_new(room, sizeof(*by_gain));
	size_t p99_count =
		served->is_p99_given ? find_best(analysis, served, p99_percent, room, by_p99) : 0;
	size_t gain_count = find_best(analysis, served, gain_percent, room, by_gain);
	size_t both_count = 0;
	for (size_t i = 0; i < gain_count; i++)
		both_count += is_among(by_p99, p99_count, by_gain[i]);
	bool is_one = both_count == p99_count && both_count == gain_count;
	if (p99_count) {
		emit_line(emit, is_one ? "Best for p99 and for throughput:" : "Best for p99:");
		emit_fixes(analysis, served, emit, by_p99, p99_count);
	}
	if (gain_count && !is_one) {
		emit_line(emit, "Best for throughput:");
		emit_fixes(analysis, served, emit, by_gain, gain_count);
		if (both_count)
			emit_line(emit, "%zu of them %s in both lists.", both_count,
				  both_count == 1 ? "is" : "are");
	}
	free(by_p99);
	free(by_gain);
}

void served_print_fixes(const struct analysis *analysis, const struct served *served,
			struct emit *emit)
{
	char times[REPORT_TIMES_BYTES], heading[REPORT_TIMES_BYTES + 64];
	report_times(times, analysis->options->factors.factors[served->factor]);
	snprintf(heading, sizeof(heading),
		 "What would a fix buy? (to requests, if a class takes %s)", times);
	emit_heading(emit, heading);
	if (analysis->checks.is_withheld) {
		report_withheld(analysis, emit);
		return;
	}
	emit_lists(analysis, served, emit);
	if (served->shortest == SIZE_MAX && served->busiest == SIZE_MAX)
		emit_line(emit, "Nothing of what was tried; wcprof-analyze whatif shows that.");
	if (served->busiest != SIZE_MAX)
		report_next_limit(analysis, served->busiest, emit);
}
