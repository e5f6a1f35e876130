/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line of wcprof-analyze, parsed. options.def lists the options.
 */
#ifndef WCPROF_OPTIONS_H
#define WCPROF_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { FACTORS_MAX = 64, TEXTS_MAX = 64, OPTIONS_ERROR_BYTES = 256 };

struct factor_list {
	double factors[FACTORS_MAX];
	size_t count;
};

/* The arguments of an option that may be repeated. */
struct text_list {
	const char *texts[TEXTS_MAX];
	size_t count;
};

struct options {
#define OPTION_FIELD_COUNT(field)                           size_t field;
#define OPTION_FIELD_FACTORS(field)                         struct factor_list field;
#define OPTION_FIELD_DURATION(field)                        uint64_t field;
#define OPTION_FIELD_CPUS(field)                            double field; /* 0 = as recorded */
#define OPTION_FIELD_FLAG(field)                            bool field;
#define OPTION_FIELD_TEXT(field)                            const char *field; /* "" = not given */
#define OPTION_FIELD_TEXTS(field)                           struct text_list field;
#define OPTION_FIELD_OPTIONAL(field)                        const char *field; /* or NULL */
#define OPTION(type, field, name, argument, standard, help) OPTION_FIELD_##type(field)
#include "options.def"
	/* Told how far a long step has got, by one thread; NULL = nobody wants to know. */
	void (*progress)(const char *what, size_t done, size_t total);
	char *const *words; /* the command line, perhaps in another order */
	size_t word_count;
	bool has_top;  /* --top was given; */
	bool has_span; /* --from or --to */
	char *const *paths;
	size_t path_count;
};

/*
 * 0, or -EINVAL with a line in `error` that says what was wrong and what to do. May reorder argv. A
 * `to_ns` that was not given is UINT64_MAX.
 */
int options_parse(struct options *options, int argc, char **argv, char error[OPTIONS_ERROR_BYTES]);

void options_print_help(FILE *file);

/* "1.5ms" and the like as nanoseconds; a bare number is nanoseconds. 0 or -EINVAL. */
int options_parse_duration(const char *text, uint64_t *duration_ns);

#endif
