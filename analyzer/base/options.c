/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line, by the rows of options.def.
 *
 * Every row becomes an entry of getopt_long's table and one of ours, with the same index. One
 * thread, once, before all else.
 */
#include "options.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum option_type {
	OPTION_COUNT,
	OPTION_FACTORS,
	OPTION_DURATION,
	OPTION_CPUS,
	OPTION_FLAG,
	OPTION_TEXT,
	OPTION_TEXTS,
	OPTION_OPTIONAL
};

struct option_row {
	enum option_type type;
	size_t field_offset;
	const char *name;
	const char *argument;
	const char *standard;
	const char *help;
};

static const struct option_row option_rows[] = {
#define OPTION(type, field, name, argument, standard, help) \
	{ OPTION_##type, offsetof(struct options, field), name, argument, standard, help },
#include "options.def"
};

enum { OPTION_ROWS = sizeof(option_rows) / sizeof(option_rows[0]), OPTION_FIRST = 256 };

static const struct {
	const char *unit;
	double ns;
} duration_units[] = {
	{ "", 1 },    { "ns", 1 },   { "us", 1e3 },   { "ms", 1e6 },
	{ "s", 1e9 }, { "m", 60e9 }, { "h", 3600e9 },
};

int options_parse_duration(const char *text, uint64_t *duration_ns)
{
	char *unit;
	double value = strtod(text, &unit);
	if (unit == text || !(value >= 0) || !strchr("0123456789.", text[0]))
		return -EINVAL;
	for (size_t i = 0; i < sizeof(duration_units) / sizeof(duration_units[0]); i++) {
		double ns = value * duration_units[i].ns;
		if (strcmp(unit, duration_units[i].unit) != 0)
			continue;
		if (!(ns < 0x1p63))
			return -EINVAL;
		*duration_ns = (uint64_t)(ns + 0.5);
		return 0;
	}
	return -EINVAL;
}

static int parse_count(const char *text, size_t *count)
{
	char *end;
	errno = 0;
	unsigned long long value = strtoull(text, &end, 10);
	if (errno || end == text || *end || !strchr("0123456789", text[0]))
		return -EINVAL;
	*count = value;
	return 0;
}

static int parse_factors(const char *text, struct factor_list *list)
{
	*list = (struct factor_list){ 0 };
	for (;;) {
		char *end;
		double factor = strtod(text, &end);
		if (end == text || !isfinite(factor) || factor < 0 || factor > 1000 ||
		    list->count == FACTORS_MAX)
			return -EINVAL;
		list->factors[list->count++] = factor;
		if (*end == '\0')
			return 0;
		if (*end != ',')
			return -EINVAL;
		text = end + 1;
	}
}

static int parse_cpus(const char *text, double *cpus)
{
	size_t count = 0;
	*cpus = strcmp(text, "unlimited") == 0 ? INFINITY : 0;
	if (*cpus > 0 || strcmp(text, "recorded") == 0)
		return 0;
	if (parse_count(text, &count) != 0 || count == 0)
		return -EINVAL;
	*cpus = (double)count;
	return 0;
}

static int add_text(const char *text, struct text_list *list)
{
	if (list->count == TEXTS_MAX || !text[0])
		return -EINVAL;
	list->texts[list->count++] = text;
	return 0;
}

static int option_set(struct options *options, const struct option_row *row, const char *text)
{
	void *field = (char *)options + row->field_offset;
	switch (row->type) {
	case OPTION_COUNT:
		return parse_count(text, field);
	case OPTION_FACTORS:
		return parse_factors(text, field);
	case OPTION_DURATION:
		return options_parse_duration(text, field);
	case OPTION_CPUS:
		return parse_cpus(text, field);
	case OPTION_FLAG:
		*(bool *)field = true;
		return 0;
	case OPTION_TEXT:
		*(const char **)field = text;
		return 0;
	case OPTION_TEXTS:
		return add_text(text, field);
	case OPTION_OPTIONAL:
		*(const char **)field = text ? text : "";
		return 0;
	}
	return -EINVAL;
}

static const char *option_example(const struct option_row *row)
{
	switch (row->type) {
	case OPTION_COUNT:
		return "a number, e.g. 20";
	case OPTION_FACTORS:
		return "factors from 0 to 1000 with commas between, e.g. 0,0.5,0.9";
	case OPTION_DURATION:
		return "a duration, e.g. 1ms, 50us or 2s";
	case OPTION_CPUS:
		return "a number above 0, recorded or unlimited";
	case OPTION_TEXTS:
		return "up to 64 of them, each with some text";
	case OPTION_FLAG:
	case OPTION_TEXT:
	case OPTION_OPTIONAL:
		break;
	}
	return "a value";
}

static void options_set_defaults(struct options *options)
{
	*options = (struct options){ .to_ns = UINT64_MAX };
	for (size_t i = 0; i < OPTION_ROWS; i++) {
		const struct option_row *row = &option_rows[i];
		if (row->type == OPTION_TEXT)
			*(const char **)((char *)options + row->field_offset) = row->standard;
		else if (row->standard[0] && option_set(options, row, row->standard) != 0)
			assert(!"a default in options.def does not parse");
	}
}

/* False: two of those that each print or write something else. The last ones go together. */
static bool is_one_output(const struct options *options, char error[OPTIONS_ERROR_BYTES])
{
	const struct {
		const char *name;
		bool is_given;
	} outputs[] = {
		{ "diff", options->diff },
		{ "symbolize", options->symbolize[0] },
		{ "explain", options->explain },
		{ "folded", options->folded[0] },
		{ "each", options->each },
		{ "rows", options->rows[0] },
		{ "slow-rules", options->slow_rules.count > 0 },
		{ "export", options->export[0] },
		{ "requests", options->requests[0] },
		{ "html", options->html[0] },
	};
	enum { OUTPUTS = sizeof(outputs) / sizeof(outputs[0]), EXPORT = OUTPUTS - 3 };
	size_t first = 0, second = OUTPUTS - 1;
	while (first < EXPORT && !outputs[first].is_given)
		first++;
	while (second > first && !outputs[second].is_given)
		second--;
	if (first >= second || first >= EXPORT)
		return true;
	snprintf(error, OPTIONS_ERROR_BYTES,
		 "--%s and --%s exclude each other; give one of them in each run",
		 outputs[first].name, outputs[second].name);
	return false;
}

static int options_check(const struct options *options, char error[OPTIONS_ERROR_BYTES])
{
	bool needs_paths = !options->help && !options->version;
	if (needs_paths && options->path_count == 0)
		snprintf(error, OPTIONS_ERROR_BYTES,
			 "no dump given; give one or several files, or - for standard "
			 "input (--help lists the options)");
	else if (strcmp(options->color, "auto") && strcmp(options->color, "always") &&
		 strcmp(options->color, "never"))
		snprintf(error, OPTIONS_ERROR_BYTES,
			 "--color: \"%.60s\" is none of auto, always, never; give one of them",
			 options->color);
	else if (strcmp(options->model, "threads") && strcmp(options->model, "edges") &&
		 strcmp(options->model, "recorded"))
		snprintf(error, OPTIONS_ERROR_BYTES,
			 "--model: \"%.60s\" is none of threads, edges, recorded; give one of them",
			 options->model);
	else if (options->root[0] && options->root[0] != '/')
		snprintf(error, OPTIONS_ERROR_BYTES,
			 "--root: %.60s is no absolute path; give one that begins with /",
			 options->root);
	else if (options->from_ns >= options->to_ns)
		snprintf(error, OPTIONS_ERROR_BYTES,
			 "--from is not before --to; give a --from that is smaller");
	else if (needs_paths && options->diff && options->path_count != 2)
		snprintf(error, OPTIONS_ERROR_BYTES,
			 "--diff compares two recordings, and %zu are given; give OLD and NEW, "
			 "files or directories",
			 options->path_count);
	else if (options->maps.count > 0 && !options->diff)
		snprintf(error, OPTIONS_ERROR_BYTES,
			 "--map renames what --diff compares; give --diff, too");
	else if (needs_paths && options->each && options->path_count < 2)
		snprintf(error, OPTIONS_ERROR_BYTES,
			 "--each needs a question and dumps; give --each 'CLASS*0.5' DUMP...");
	else if (options->html[0] && !strcmp(options->html, options->output))
		snprintf(error, OPTIONS_ERROR_BYTES,
			 "--html and -o are both \"%.60s\"; give them different names",
			 options->html);
	else if (!needs_paths || is_one_output(options, error))
		return 0;
	return -EINVAL;
}

static int has_argument(const struct option_row *row)
{
	if (row->type == OPTION_FLAG)
		return no_argument;
	return row->type == OPTION_OPTIONAL ? optional_argument : required_argument;
}

/* Of what getopt_long() found, or found without its value. */
static const struct option_row *row_of(int found)
{
	const char *name = found == 'o' ? "output" : found == 'j' ? "jobs" : NULL;
	size_t row = name ? 0 : (size_t)(found - OPTION_FIRST);
	while (name && strcmp(option_rows[row].name, name) != 0)
		row++;
	return &option_rows[row];
}

/* Some do more than set a value. */
static void note_given(struct options *options, const char *name)
{
	options->has_top |= strcmp(name, "top") == 0;
	options->has_span |= strcmp(name, "from") == 0 || strcmp(name, "to") == 0;
}

int options_parse(struct options *options, int argc, char **argv, char error[OPTIONS_ERROR_BYTES])
{
	struct option table[OPTION_ROWS + 1];
	for (int i = 0; i < OPTION_ROWS; i++)
		table[i] = (struct option){ option_rows[i].name, has_argument(&option_rows[i]),
					    NULL, OPTION_FIRST + i };
	table[OPTION_ROWS] = (struct option){ 0 };
	options_set_defaults(options);
	opterr = 0;
	optind = 0;
	for (int found; (found = getopt_long(argc, argv, ":hVo:j:", table, NULL)) != -1;) {
		if (found == 'h') {
			options->help = true;
		} else if (found == 'V') {
			options->version = true;
		} else if (found == ':') {
			snprintf(error, OPTIONS_ERROR_BYTES, "%.60s needs a value; give %s",
				 argv[optind - 1], option_example(row_of(optopt)));
			return -EINVAL;
		} else if (found == '?') {
			snprintf(error, OPTIONS_ERROR_BYTES,
				 "%.60s is not an option; --help lists them", argv[optind - 1]);
			return -EINVAL;
		} else if (option_set(options, row_of(found), optarg) != 0) {
			const struct option_row *row = row_of(found);
			snprintf(error, OPTIONS_ERROR_BYTES,
				 "--%s: \"%.60s\" is not valid; give %s", row->name, optarg,
				 option_example(row));
			return -EINVAL;
		} else {
			note_given(options, row_of(found)->name);
		}
	}
	options->words = argv;
	options->word_count = (size_t)argc;
	options->paths = argv + optind;
	options->path_count = (size_t)(argc - optind);
	return options_check(options, error);
}

static const char *const skipped_files[] = {
#define RUNTIME_MODULE(glob, meaning)     glob,
#define INTERPRETER_MODULE(glob, meaning) glob,
#include "runtime.def"
	NULL,
};

static const char *const skipped_sources[] = {
#define RUNTIME_FILE(glob, meaning) glob,
#include "runtime.def"
	NULL,
};

static const char *const skipped_functions[] = {
#define RUNTIME_FUNCTION(glob, meaning) glob,
#include "runtime.def"
	NULL,
};

enum { HELP_COLUMNS = 96, HELP_INDENT = 23 };

/* Words, from a column that is reached to the end of the line, then from the indent. */
static void print_words(FILE *file, const char *words, int column, int indent)
{
	while (*words) {
		int length = (int)strcspn(words, " ");
		if (column + 1 + length > HELP_COLUMNS)
			column = fprintf(file, "\n%*s", indent - 1, "") - 1;
		column += fprintf(file, " %.*s", length, words);
		words += length;
		words += *words == ' ';
	}
}

static void print_list(FILE *file, const char *title, const char *const *words)
{
	int column = fprintf(file, "  %s:", title);
	for (; *words; words++) {
		if (column + 1 + (int)strlen(*words) > HELP_COLUMNS)
			column = fprintf(file, "\n   ") - 1;
		column += fprintf(file, " %s", *words);
	}
	fputc('\n', file);
}

static void print_option(FILE *file, const struct option_row *row)
{
	bool is_apart = row->argument[0] && row->type != OPTION_OPTIONAL;
	char name[64], value[64] = "";
	snprintf(name, sizeof(name), "--%s%s%s", row->name, is_apart ? " " : "", row->argument);
	int column = fprintf(file, "  %-20s", name);
	if (row->standard[0])
		snprintf(value, sizeof(value), "(%s)", row->standard);
	print_words(file, row->help, column, HELP_INDENT);
	fprintf(file, "%s%s\n", value[0] ? " " : "", value);
}

void options_print_help(FILE *file)
{
	fputs("Usage: wcprof-analyze [REPORT,...] [options] DUMP...\n"
	      "Replays a recorded run, and says how much sooner it would end if a part were\n"
	      "faster. Several dumps are merged: later dumps of one process, or dumps of\n"
	      "processes that talked to each other. The first line of the report says how\n"
	      "sure its answers are: sure, fair, or withheld, with the cause and what to do.\n\n",
	      file);
	for (size_t i = 0; i < OPTION_ROWS; i++)
		print_option(file, &option_rows[i]);
	fputs("\nNo class is ever named after these, as if given with --skip (shell "
	      "patterns):\n",
	      file);
	print_list(file, "files", skipped_files);
	print_list(file, "sources", skipped_sources);
	print_list(file, "functions", skipped_functions);
	fputs("\nExit status: 0 done, 1 --symbolize refused a file or --each had errors, 2 wrong\n"
	      "usage or an unreadable dump, 3 predictions withheld because a check of the replay\n"
	      "failed by too much.\n",
	      file);
}
