/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints one report after the other; reports.h has the contract.
 */
#include "reports.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "served.h"
#include "tailed.h"
#include "traceurl.h"

enum { FIRST_ROWS = 5, WORDS_BYTES = 200 };

static const struct {
	const char *word;
	void (*print)(const struct analysis *, struct emit *);
	bool is_first; /* on the first screen */
} reports[] = {
#define REPORT(name, question)       { #name, report_##name, false },
#define FIRST_REPORT(name, question) { #name, report_##name, true },
#include "reports.def"
};

enum { REPORTS = sizeof(reports) / sizeof(reports[0]) };

/* Whether the list has a word at `from`, of this length. */
static bool is_word(const char *from, size_t length, const char *word)
{
	return strlen(word) == length && strncmp(from, word, length) == 0;
}

static bool is_listed(const char *list, const char *word)
{
	for (const char *from = list; *from; from += *from == ',') {
		size_t length = strcspn(from, ",");
		if (is_word(from, length, word))
			return true;
		from += length;
	}
	return false;
}

static void list_words(char *words, const char *between, bool with_first)
{
	size_t length = 0;
	words[0] = '\0';
	for (size_t i = 0; i < REPORTS && length < WORDS_BYTES; i++)
		if (with_first || !reports[i].is_first)
			length += (size_t)snprintf(words + length, WORDS_BYTES - length, "%s%s",
						   length ? between : "", reports[i].word);
}

/* The first word of the list that names no report, with its length; NULL = all do. */
static const char *find_wrong(const char *list, size_t *length)
{
	for (const char *from = list; *from; from += *from == ',') {
		size_t i = 0;
		*length = strcspn(from, ",");
		while (i < REPORTS && !is_word(from, *length, reports[i].word))
			i++;
		if (i == REPORTS && !is_word(from, *length, "all"))
			return from;
		from += *length;
	}
	return NULL;
}

/* A first argument that names reports, and no file. */
static void take_words(struct options *options)
{
	size_t length;
	if (options->show[0] || options->path_count == 0 || !options->paths[0][0] ||
	    find_wrong(options->paths[0], &length) || access(options->paths[0], F_OK) == 0)
		return;
	options->show = *options->paths++;
	options->path_count--;
}

int reports_choose(struct options *options, char error[OPTIONS_ERROR_BYTES])
{
	char words[WORDS_BYTES];
	size_t length;
	take_words(options);
	if (options->all)
		options->show = "all";
	if (options->tail && options->tail[0] && !options->show[0])
		options->show = "tail";
	if (options->trace && options->trace[0] && !options->show[0])
		options->show = "trace";
	const char *wrong = find_wrong(options->show, &length);
	list_words(words, ", ", true);
	if (wrong)
		snprintf(error, OPTIONS_ERROR_BYTES,
			 "--show: \"%.*s\" is none of all, %s; give some of them",
			 length > 20 ? 20 : (int)length, wrong, words);
	else if (options->tail && options->tail[0] && tailed_percent(options->tail) == 0)
		snprintf(error, OPTIONS_ERROR_BYTES,
			 "--tail: \"%.20s\" is no percentile from 50 to 99.9; give one, e.g. 99",
			 options->tail);
	else if (options->tail && tailed_class(options->tail) && !options->folded[0])
		snprintf(error, OPTIONS_ERROR_BYTES,
			 "--tail: calls of a class are told as stacks; give --folded wall, too");
	else if (trace_url_check(options->trace_url, error) != 0)
		return -EINVAL;
	else if (options->path_count == 0 && !options->help && !options->version)
		snprintf(error, OPTIONS_ERROR_BYTES,
			 "no dump given after \"%.60s\"; give one or several files", options->show);
	else
		return 0;
	return -EINVAL;
}

void reports_print(const struct analysis *analysis, struct emit *emit)
{
	for (size_t i = 0; i < REPORTS; i++)
		reports[i].print(analysis, emit);
}

static void print_first(const struct analysis *analysis, struct emit *emit)
{
	struct options options = *analysis->options;
	struct analysis first = *analysis;
	char words[WORDS_BYTES];
	if (!options.has_top && options.top > FIRST_ROWS)
		options.top = FIRST_ROWS;
	first.options = &options;
	emit->is_screen = true;
	struct served served;
	bool is_server = served_find(&first, &served);
	for (size_t i = 0; i < REPORTS; i++)
		if (reports[i].is_first && !(is_server && reports[i].print == report_whatif))
			reports[i].print(&first, emit);
	if (is_server)
		served_print_fixes(&first, &served, emit);
	served_free(&served);
	list_words(words, " ", false);
	emit_heading(emit, "More");
	emit_line(emit, "--all, or some by name (wcprof-analyze locks,waits DUMP): %s", words);
	emit_line(emit, "--html PAGE for a browser; --export FORMAT for other programs (--help)");
	emit->is_screen = false;
}

void reports_print_shown(const struct analysis *analysis, struct emit *emit)
{
	const char *show = analysis->options->show;
	bool is_screen = !show[0] && emit->format == EMIT_TEXT;
	bool is_all = is_listed(show, "all") || (!show[0] && !is_screen);
	if (is_screen)
		print_first(analysis, emit);
	for (size_t i = 0; i < REPORTS; i++)
		if (is_all || is_listed(show, reports[i].word))
			reports[i].print(analysis, emit);
}
