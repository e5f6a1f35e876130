/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pictures of an analysis for where no script runs: curves of what a fix buys, locks over time, two
 * requests side by side. The page has the same, from the same figures.
 *
 * All text is escaped. Colours are those of the page, each state also has its letter.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/emit.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "exporters.h"
#include "measure/contention.h"
#include "report/facts.h"
#include "latency.h"
#include "waterfall.h"

enum { WIDTH = 1000, CURVES_A_ROW = 3, LOCKS_SHOWN = 12, NAME_COLUMNS = 34 };

static const char *const state_colors[WALK_STATES] = {
	[WALK_RUNNING] = "#009e73", [WALK_QUEUED] = "#e69f00",      [WALK_BLOCKED] = "#d55e00",
	[WALK_IDLE] = "#56b4e9",    [WALK_UNEXPLAINED] = "#3d434d",
};

static const char state_letters[WALK_STATES] = { 'R', 'Q', 'B', 'I', 'U' };

static void begin(FILE *file, double height, const char *title)
{
	fprintf(file,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %.0f\" "
		"font-family=\"sans-serif\" font-size=\"12\" role=\"img\">\n<title>%s</title>\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
		WIDTH, height, title);
}

/* The anchor is start, middle or end. */
static void put_text(FILE *file, double x, double y, const char *anchor, const char *text)
{
	char *printable = utf8_printable(text), *shown = utf8_shorten(printable, NAME_COLUMNS);
	fprintf(file, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
	for (const char *at = shown; *at; at++) {
		const char *escaped = *at == '<' ? "&lt;" : *at == '>' ? "&gt;" : "&amp;";
		if (strchr("<>&", *at))
			fputs(escaped, file);
		else
			fputc(*at, file);
	}
	fputs("</text>\n", file);
	free(printable);
	free(shown);
}

static void put_rect(FILE *file, double x, double y, double width, double height, const char *color,
		     double opacity)
{
	fprintf(file,
		"<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" fill=\"%s\" "
		"fill-opacity=\"%.3f\"/>\n",
		x, y, width, height, color, opacity);
}

/* In place of a picture. */
static void put_nothing(FILE *file, const char *title, const char *why)
{
	begin(file, 30, title);
	put_text(file, 10, 20, "start", why);
	fputs("</svg>\n", file);
}

/* --- Curves --- */

/* Where a curve is drawn, and its scale. */
struct frame {
	double left, top, width, height;
	double least_ns, most_ns;
};

static double x_of(const struct frame *frame, double factor)
{
	return frame->left + (1 - factor) * frame->width;
}

static double y_of(const struct frame *frame, double ns)
{
	return frame->top + (frame->most_ns - fmin(ns, frame->most_ns)) /
				    (frame->most_ns - frame->least_ns) * frame->height;
}

static void put_points(FILE *file, const struct frame *frame, const struct curve_point *points,
		       size_t count)
{
	fputs("<polygon fill=\"#0072b2\" fill-opacity=\"0.18\" points=\"", file);
	for (size_t i = 0; i < count; i++)
		fprintf(file, "%.1f,%.1f ", x_of(frame, points[i].factor),
			y_of(frame, points[i].estimate.least_ns));
	for (size_t i = count; i-- > 0;)
		fprintf(file, "%.1f,%.1f ", x_of(frame, points[i].factor),
			y_of(frame, points[i].estimate.most_ns));
	fputs("\"/>\n<polyline fill=\"none\" stroke=\"#0072b2\" stroke-width=\"2\" points=\"",
	      file);
	for (size_t i = 0; i < count; i++)
		fprintf(file, "%.1f,%.1f ", x_of(frame, points[i].factor),
			y_of(frame, points[i].estimate.saved_ns));
	fputs("\"/>\n", file);
}

/* The class, and what halving it saves. */
static void put_heading(FILE *file, const struct analysis *analysis, const struct frame *frame,
			const struct curve_point *points, size_t count)
{
	char text[64];
	put_text(file, frame->left, frame->top - 26, "start",
		 facts_class_name(analysis, points->class));
	for (size_t i = 0; i < count; i++) {
		if (points[i].factor != 0.5)
			continue;
		snprintf(text, sizeof(text), "%s, halved: %.1f%% sooner",
			 facts_class_kind(analysis, points->class),
			 100 * points[i].estimate.saved_ns / analysis->whatif.baseline.makespan_ns);
		put_text(file, frame->left, frame->top - 10, "start", text);
	}
}

static void put_curve(FILE *file, const struct analysis *analysis, const struct frame *frame,
		      const struct curve_point *points, size_t count)
{
	double baseline_ns = analysis->whatif.baseline.makespan_ns;
	char text[64];
	put_heading(file, analysis, frame, points, count);
	for (int half = 0; half <= 2; half++) {
		double ns = frame->most_ns * half / 2;
		fprintf(file, "<path stroke=\"#d3d7de\" d=\"M%.1f,%.1fh%.1f\"/>\n", frame->left,
			y_of(frame, ns), frame->width);
		snprintf(text, sizeof(text), "%.3g%%", 100 * ns / baseline_ns);
		put_text(file, frame->left - 6, y_of(frame, ns) + 4, "end", text);
	}
	put_points(file, frame, points, count);
	double foot = frame->top + frame->height + 16;
	put_text(file, frame->left, foot, "start", "as it is");
	put_text(file, frame->left + frame->width / 2, foot, "middle", "x0.5");
	put_text(file, frame->left + frame->width, foot, "end", "no time");
}

/* One scale for all, up to the whole run: more than that cannot be saved. */
static void find_scale(const struct curves *curves, struct frame *frame, double baseline_ns)
{
	frame->most_ns = baseline_ns / 100;
	for (size_t i = 0; i < curves->count; i++) {
		frame->most_ns = fmax(frame->most_ns, curves->points[i].estimate.most_ns);
		frame->least_ns = fmin(frame->least_ns, curves->points[i].estimate.least_ns);
	}
	frame->most_ns = fmin(frame->most_ns, baseline_ns);
}

static void put_curves(FILE *file, const struct analysis *analysis)
{
	static const char title[] = "Time saved in the whole run if a class takes x times as long";
	const struct curves *curves = &analysis->curves;
	enum { ROW = 220, LEFT = 50 };
	size_t shown = 0, classes = 0;
	for (size_t i = 0; i < curves->count; i++)
		classes += i == 0 || curves->points[i].class != curves->points[i - 1].class;
	if (analysis->checks.is_withheld || classes == 0) {
		put_nothing(file, title,
			    analysis->checks.is_withheld ? "Withheld: the report says why"
							 : "No class to ask about");
		return;
	}
	struct frame frame = { .width = WIDTH / CURVES_A_ROW - LEFT - 15, .height = ROW - 85 };
	find_scale(curves, &frame, analysis->whatif.baseline.makespan_ns);
	begin(file, (double)(ROW * ((classes + CURVES_A_ROW - 1) / CURVES_A_ROW)), title);
	for (size_t from = 0, to; from < curves->count; from = to, shown++) {
		for (to = from;
		     to < curves->count && curves->points[to].class == curves->points[from].class;)
			to++;
		frame.left = LEFT + (double)(shown % CURVES_A_ROW) * WIDTH / CURVES_A_ROW;
		frame.top = 44 + (double)(shown / CURVES_A_ROW) * ROW;
		put_curve(file, analysis, &frame, &curves->points[from], to - from);
	}
	fputs("</svg>\n", file);
}

/* --- Locks over time --- */

static void put_heat(FILE *file, const struct analysis *analysis)
{
	static const char title[] = "Waiters for locks over time";
	const struct labels none = { 0 };
	const struct labels *labels = analysis->labels ? analysis->labels : &none;
	const struct graph *graph = &analysis->graph;
	enum { LEFT = 230, ROW = 22, CELL = 18 };
	struct contention contention;
	uint64_t most_ns = 1;
	uint32_t rows = 0;
	contention_build(&contention, &analysis->locks, analysis->recording, labels->ops,
			 labels->waits, labels->sites, graph->start_ns, graph->end_ns);
	while (rows < contention.lock_count && rows < LOCKS_SHOWN &&
	       analysis->locks.rows[rows].contended > 0)
		rows++;
	for (uint32_t i = 0; i < rows * CONTENTION_SLOTS; i++)
		most_ns = contention.cells[i].wait_ns > most_ns ? contention.cells[i].wait_ns
								: most_ns;
	if (rows == 0)
		put_nothing(file, title, "No lock was waited for");
	else
		begin(file, 10 + ROW * rows, title);
	for (uint32_t i = 0; i < rows * CONTENTION_SLOTS; i++) {
		double width = (double)(WIDTH - LEFT) / CONTENTION_SLOTS,
		       row = i / CONTENTION_SLOTS;
		if (i % CONTENTION_SLOTS == 0)
			put_text(
				file, LEFT - 8, 18 + ROW * row, "end",
				analysis->recording
					->strings[analysis->locks.rows[i / CONTENTION_SLOTS].name]);
		if (contention.cells[i].wait_ns)
			put_rect(file, LEFT + i % CONTENTION_SLOTS * width, 5 + ROW * row,
				 width + 0.1, CELL, state_colors[WALK_BLOCKED],
				 0.12 + 0.88 * sqrt((double)contention.cells[i].wait_ns /
						    (double)most_ns));
	}
	fputs(rows ? "</svg>\n" : "", file);
	contention_free(&contention);
}

/* --- Two requests --- */

static void put_request(FILE *file, struct walk *walk, const struct waterfall_window *own,
			double left, double ns_a_column, const char *title)
{
	enum { LANE = 44, BOX = 26 };
	struct waterfall_window windows[1 + WATERFALL_OTHERS] = { *own };
	waterfall_fill(windows, 1, walk);
	size_t count = 1 + waterfall_others(windows, windows + 1);
	waterfall_fill(windows + 1, count - 1, walk);
	put_text(file, left, 18, "start", title);
	for (size_t i = 0; i < count; i++) {
		double top = 46 + LANE * (double)i;
		put_text(file, left, top - 4, "start", walk_thread_name(walk, windows[i].thread));
		for (size_t k = 0; k < windows[i].slice_count; k++) {
			const struct waterfall_slice *slice = &windows[i].slices[k];
			const char letter[2] = { state_letters[slice->sort.state], '\0' };
			double x = left + (double)(slice->start_ns - own->from_ns) / ns_a_column;
			double width = (double)(slice->end_ns - slice->start_ns) / ns_a_column;
			put_rect(file, x, top, width, BOX, state_colors[slice->sort.state], 1);
			if (width > 14)
				put_text(file, x + width / 2, top + 17, "middle", letter);
		}
	}
	waterfall_free(windows, count);
}

/* A percentile's request; where that is not known one that is as far up among what was seen. */
static size_t near_mark(const struct latency *latency, size_t mark)
{
	size_t seen = (latency->count - 1) * latency_percent(mark) / 100;
	return latency->marks[mark] < latency->count ? latency->marks[mark] : seen;
}

static void put_waterfall(FILE *file, const struct analysis *analysis)
{
	static const char title[] = "A request in the middle, and a slow one";
	static const char key[] = "Run, Queued, Blocked, Idle, Unknown";
	const struct requests *requests = &analysis->script.requests;
	struct latency *latency = memory_new(1, sizeof(*latency));
	struct walk walk;
	walk_begin(&walk, analysis);
	if (analysis->has_script && requests->judged_class != NO_INDEX)
		latency_build(latency, requests, NULL);
	if (latency->count == 0) {
		put_nothing(file, title, "The recording shows no requests");
	} else {
		enum { COLUMN = WIDTH / 2 - 20 };
		const size_t marks[] = { 0, LATENCY_MARKS - 1 };
		uint64_t longest_ns = latency->requests[near_mark(latency, marks[1])].taken_ns + 1;
		begin(file, 66 + 44 * (1 + WATERFALL_OTHERS), title);
		put_text(file, 10, 60 + 44 * (1 + WATERFALL_OTHERS), "start", key);
		for (size_t i = 0; i < 2; i++) {
			const struct latency_request *request =
				&latency->requests[near_mark(latency, marks[i])];
			struct waterfall_window window = {
				.thread = request->thread,
				.from_ns = request->start_ns,
				.to_ns = request->start_ns + request->taken_ns,
			};
			char took[EMIT_DURATION_BYTES], text[64];
			emit_format_duration(took, (double)request->taken_ns);
			bool is_known = latency->marks[marks[i]] < latency->count;
			snprintf(text, sizeof(text), "p%u: %s", latency_percent(marks[i]),
				 is_known ? took : "not known");
			put_request(file, &walk, &window, 10 + (double)i * WIDTH / 2,
				    (double)longest_ns / COLUMN, text);
		}
		fputs("</svg>\n", file);
	}
	latency_free(latency);
	free(latency);
	walk_end(&walk);
}

void export_svg(struct export *export)
{
	static const struct {
		const char *name;
		void (*put)(FILE *, const struct analysis *);
	} pictures[] = {
		{ "curves.svg", put_curves },
		{ "locks.svg", put_heat },
		{ "requests.svg", put_waterfall },
	};
	for (size_t i = 0; i < sizeof(pictures) / sizeof(pictures[0]); i++) {
		FILE *file = export_file_in(export, pictures[i].name);
		if (!file)
			return;
		pictures[i].put(file, export->analysis);
	}
}
