/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints what was judged for other programs: as JSON, and as JUnit XML.
 *
 * In JUnit's words what cannot be told is an error: no continuous integration takes that for
 * passed.
 */
#include <math.h>
#include <string.h>

#include "ci.h"
#include "visible.h"

/* --- JSON ------------------------------------------------------------------------------------- */

static void put_number(const char *key, double value)
{
	if (isfinite(value))
		printf(",\"%s\":%.9g", key, value);
	else
		printf(",\"%s\":null", key);
}

static void put_text(const char *key, const char *text)
{
	printf(",\"%s\":%s", key, text[0] ? visible_json(text) : "null");
}

static const char *word_of(enum ci_what what)
{
	static const char *const words[] = {
		[CI_CPU] = "cpu",          [CI_COUNT] = "count", [CI_WAIT] = "wait",
		[CI_TIME] = "time",        [CI_P50] = "p50",     [CI_P99] = "p99",
		[CI_MAKESPAN] = "makespan"
	};

	return words[what];
}

static void put_gate(const struct ci_gate *gate)
{
	printf("{\"metric\":\"%s\"", word_of(gate->figure.what));
	put_text("name", gate->figure.name ? gate->figure.name : "");
	printf(",\"unit\":\"%s\"", ci_figure_is_time(&gate->figure) ? "ns" : "count");
	printf(",\"is_gate\":%s,\"state\":\"%s\"", gate->is_gate ? "true" : "false",
	       ci_state_word(gate->state));
	put_number("base", gate->base);
	put_number("new", gate->new);
	put_number("change", gate->test.change);
	put_number("low", gate->test.low);
	put_number("high", gate->test.high);
	put_number("p", gate->test.p);
	printf(",\"confirmed\":%s", gate->is_confirmed ? "true" : "false");
	put_text("why", gate->why);
	putchar('}');
}

static void put_limit(const struct ci_limit *limit)
{
	printf("{\"line\":%zu", limit->line);
	put_text("text", limit->text);
	printf(",\"state\":\"%s\"", ci_state_word(limit->state));
	put_number("limit", limit->value);
	put_number("median", limit->median);
	put_number("least", limit->least);
	put_number("most", limit->most);
	put_text("why", limit->why);
	putchar('}');
}

void ci_print_json(const struct ci_plan *plan, const char *changes)
{
	printf("{\"verdict\":\"%s\"", ci_verdict_word(plan->verdict));
	put_text("why", plan->why);
	put_text("note", plan->note);
	printf(",\"pairs\":%zu,\"rounds\":%zu", plan->runs.pairs, plan->rounds);
	put_text("unit", plan->runs.are_requests ? "request" : "run");
	put_text("request", plan->runs.request ? plan->runs.request : "");
	put_number("fail_over", plan->fail_over);
	put_number("min_effect_ns", plan->min_effect_ns);
	printf(",\"gates\":[");
	for (size_t i = 0; i < plan->gate_count; i++) {
		fputs(i ? "," : "", stdout);
		put_gate(&plan->gates[i]);
	}
	printf("],\"budget\":[");
	for (size_t i = 0; i < plan->limit_count; i++) {
		fputs(i ? "," : "", stdout);
		put_limit(&plan->limits[i]);
	}
	printf("],\"diff\":%s}\n", changes && changes[0] == '{' ? changes : "null");
}

/* --- JUnit ------------------------------------------------------------------------------------ */

static void put_xml(FILE *file, const char *text)
{
	for (text = visible(text); *text; text++) {
		switch (*text) {
		case '&':
			fputs("&amp;", file);
			break;
		case '<':
			fputs("&lt;", file);
			break;
		case '>':
			fputs("&gt;", file);
			break;
		case '"':
			fputs("&quot;", file);
			break;
		default:
			fputc(*text, file);
		}
	}
}

static void put_case(FILE *file, const char *name, enum ci_state state, const char *why)
{
	const char *element = state == CI_GATE_FAILED   ? "failure"
			      : state == CI_GATE_UNTOLD ? "error"
			      : state == CI_GATE_PASSED ? NULL
							: "skipped";

	fputs("  <testcase classname=\"wcprof ci\" name=\"", file);
	put_xml(file, name);
	if (!element) {
		fputs("\"/>\n", file);
		return;
	}
	fprintf(file, "\"><%s message=\"", element);
	put_xml(file, why);
	fputs("\"/></testcase>\n", file);
}

static void put_gate_case(const struct ci_plan *plan, const struct ci_gate *gate, FILE *file)
{
	bool is_time = ci_figure_is_time(&gate->figure);
	char words[128], base[40], new[40], why[CI_WHY_BYTES];

	ci_figure_words(&gate->figure, plan->runs.are_requests, words);
	snprintf(why, sizeof(why), "%s", gate->why);
	if (gate->state == CI_GATE_FAILED)
		snprintf(why, sizeof(why), "%s before, %s now, p = %.4f",
			 ci_value(base, gate->base, is_time, false),
			 ci_value(new, gate->new, is_time, false), gate->test.p);
	put_case(file, words, gate->state, why);
}

static void put_limit_case(const struct ci_limit *limit, FILE *file)
{
	char value[40], why[CI_WHY_BYTES];

	snprintf(why, sizeof(why), "%s", limit->why);
	if (limit->state == CI_GATE_FAILED)
		snprintf(why, sizeof(why), "it is %s",
			 ci_value(value, limit->median, ci_figure_is_time(&limit->figure), false));
	put_case(file, limit->text, limit->state, why);
}

bool ci_write_junit(const struct ci_plan *plan, FILE *file)
{
	size_t gates = 0, failed = ci_gates_count(plan, CI_GATE_FAILED);
	size_t untold = ci_gates_count(plan, CI_GATE_UNTOLD) + (plan->why[0] != '\0');

	for (size_t i = 0; i < plan->gate_count; i++)
		gates += plan->gates[i].is_gate;
	for (size_t i = 0; i < plan->limit_count; i++) {
		failed += plan->limits[i].state == CI_GATE_FAILED;
		untold += plan->limits[i].state == CI_GATE_UNTOLD;
	}
	fprintf(file,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<testsuite name=\"wcprof ci\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\">\n",
		gates + plan->limit_count + (plan->why[0] != '\0'), failed, untold);
	if (plan->why[0])
		put_case(file, "recordings", CI_GATE_UNTOLD, plan->why);
	for (size_t i = 0; i < plan->gate_count; i++)
		if (plan->gates[i].is_gate)
			put_gate_case(plan, &plan->gates[i], file);
	for (size_t i = 0; i < plan->limit_count; i++)
		put_limit_case(&plan->limits[i], file);
	fputs("</testsuite>\n", file);
	return !ferror(file);
}
