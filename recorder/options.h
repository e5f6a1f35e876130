/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder's options by options.def: their values, and what is known of each.
 *
 * The values are read from the environment once, when the library is loaded. The live ones are
 * changed by the control thread later (settings.h), and read by it alone from then on; all others
 * are constant.
 */
#ifndef WCPROF_OPTIONS_H
#define WCPROF_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "condition.h"
#include "recorder.h"
#include "text.h"

enum { OPTION_PATH_BYTES = 1024 };

/* Of `full`: its words, in their order. */
enum { FULL_DROP, FULL_RING };
/* Of `seccomp`. */
enum { SECCOMP_CHECK, SECCOMP_IGNORE };

struct options {
#define OPTION_CONDITION(field, name, live, help) char field[CONDITION_BYTES];

#define OPTION_NUMBER(field, name, value, least, most, unit, live, help) uint64_t field;
#define OPTION_CHOICE(field, name, value, words, live, help)             uint64_t field;
#define OPTION_SHARE(field, name, value, live, help)                     uint64_t field;
#define OPTION_TEXT(field, name, shown, noun, most, live, help)          char field[most + 1];
#include "options.def"
	char runtime_dir[OPTION_PATH_BYTES]; /* $XDG_RUNTIME_DIR */
};

enum {
#define OPTION_NUMBER(field, name, value, least, most, unit, live, help) OPTION_##field,
#define OPTION_CHOICE(field, name, value, words, live, help)             OPTION_##field,
#define OPTION_SHARE(field, name, value, live, help)                     OPTION_##field,
#define OPTION_TEXT(field, name, shown, noun, most, live, help)          OPTION_##field,
#define OPTION_CONDITION(field, name, live, help)                        OPTION_##field,
#include "options.def"
	OPTION_COUNT
};

/* A row of options.def, whose value is at `offset` in struct options. */
struct option_entry {
	const char *key;      /* as the field */
	const char *variable; /* "" = not from the environment */
	enum {
		OPTION_IS_NUMBER,
		OPTION_IS_CHOICE,
		OPTION_IS_SHARE,
		OPTION_IS_TEXT,
		OPTION_IS_CONDITION
	} type;
	bool is_live;
	uint64_t usual;    /* of a choice: index of its word */
	uint64_t least;    /* of a number */
	uint64_t most;     /* of a number or a share; of a text or condition: bytes */
	const char *words; /* of a choice: separated by |; of a text: the noun */
	const char *help;
	size_t offset;
};

extern const struct option_entry option_entries[OPTION_COUNT] HIDDEN;
extern struct options recorder_options HIDDEN;

/* Reads all of them; a bad value is one line on standard error, and the default is used. */
void options_read(struct options *, const char *(*get)(const char *name)) HIDDEN;

/* Whether this is a value of the option. */
bool options_accept(const struct option_entry *, const char *value, size_t bytes) HIDDEN;
/* Stores a value that options_accept() takes. */
void options_set(struct options *, const struct option_entry *, const char *value,
		 size_t bytes) HIDDEN;
/* "a number from 1 to 9", "contended, all or none", "a path of at most 1023 bytes". */
void options_put_allowed(struct text *, const struct option_entry *) HIDDEN;
/* ": ..." about a value that it does not take, where there is more to say. */
void options_put_why(struct text *, const struct option_entry *, const char *value,
		     size_t bytes) HIDDEN;
/* The value as JSON. */
void options_put_value(struct text *, const struct options *, const struct option_entry *) HIDDEN;

#endif
