/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options by their table: parsing, storing, showing. See options.h and options.def.
 *
 * One way to take a value, for the environment at load and for the control thread later. A value is
 * stored whole or not at all. No state but the values.
 */
#include "options.h"

#include <assert.h>
#include <string.h>

#include "in_target.h"

enum { LIVE = true, FIXED = false, VALUE_BYTES_SHOWN = 40 };
/* Of a share, in millionths; a percentage has so many digits behind its point. */
enum { SHARE_MOST = 1000000, SHARE_PERCENT = 10000, SHARE_DIGITS = 4 };

struct options recorder_options;

#define ENTRY_OF(field_of, name_of) \
	.key = #field_of, .variable = name_of, .offset = offsetof(struct options, field_of)
const struct option_entry option_entries[OPTION_COUNT] = {
#define OPTION_NUMBER(field, name, value, least_of, most_of, unit, live, help_of)              \
	[OPTION_##field] = { ENTRY_OF(field, name), .type = OPTION_IS_NUMBER, .is_live = live, \
			     .usual = value,        .least = least_of,        .most = most_of, \
			     .help = help_of },
#define OPTION_CHOICE(field, name, value, words_of, live, help_of)                             \
	[OPTION_##field] = { ENTRY_OF(field, name), .type = OPTION_IS_CHOICE, .is_live = live, \
			     .usual = value,        .words = words_of,        .help = help_of },
#define OPTION_SHARE(field, name, value, live, help_of)                                       \
	[OPTION_##field] = { ENTRY_OF(field, name), .type = OPTION_IS_SHARE, .is_live = live, \
			     .usual = value,        .most = SHARE_MOST,      .help = help_of },
#define OPTION_TEXT(field, name, shown, noun, most_of, live, help_of)                        \
	[OPTION_##field] = { ENTRY_OF(field, name), .type = OPTION_IS_TEXT, .is_live = live, \
			     .most = most_of,       .words = noun,          .help = help_of },
#define OPTION_CONDITION(field, name, live, help_of)                                              \
	[OPTION_##field] = { ENTRY_OF(field, name), .type = OPTION_IS_CONDITION, .is_live = live, \
			     .most = CONDITION_BYTES - 1, .help = help_of },
#include "options.def"
};

static const struct option_entry runtime_dir = {
	.variable = "XDG_RUNTIME_DIR",
	.type = OPTION_IS_TEXT,
	.most = OPTION_PATH_BYTES - 1,
	.words = "a path",
	.offset = offsetof(struct options, runtime_dir),
};

/* --- Words separated by | -------------------------------------------------------------------- */

/* The word's length; *next is the word after it, NULL after the last one. */
static size_t word_length(const char *word, const char **next)
{
	const char *bar = strchr(word, '|');

	*next = bar ? bar + 1 : NULL;
	return bar ? (size_t)(bar - word) : strlen(word);
}

static bool find_word(const char *words, const char *value, size_t bytes, uint64_t *index)
{
	const char *next;

	*index = 0;
	for (const char *word = words; word; word = next, ++*index)
		if (word_length(word, &next) == bytes && memcmp(value, word, bytes) == 0)
			return true;
	return false;
}

/* "one, two or three" */
static void put_words(struct text *text, const char *words)
{
	const char *next;

	for (const char *word = words; word; word = next) {
		text_put_bytes(text, word, word_length(word, &next));
		if (next)
			text_put(text, strchr(next, '|') ? ", " : " or ");
	}
}

static void put_word(struct text *text, const char *words, uint64_t index)
{
	const char *word = words, *next;
	size_t length = word_length(word, &next);

	for (; index > 0 && next; index--) {
		word = next;
		length = word_length(word, &next);
	}
	text_put_json(text, word, length);
}

/* --- Values ---------------------------------------------------------------------------------- */

/* "1%", "0.5", in millionths. */
static bool parse_share(const char *value, size_t bytes, uint64_t *share)
{
	uint64_t whole, part = 0, unit = SHARE_PERCENT;
	const char *point;
	size_t digits;

	bytes -= bytes > 0 && value[bytes - 1] == '%';
	point = memchr(value, '.', bytes);
	digits = point ? (size_t)(value + bytes - point - 1) : 0;
	if (!text_parse_u64(value, point ? (size_t)(point - value) : bytes, &whole) ||
	    whole > SHARE_MOST || digits > SHARE_DIGITS ||
	    (point && !text_parse_u64(point + 1, digits, &part)))
		return false;
	for (size_t i = 0; i < digits; i++)
		unit /= 10;
	*share = whole * SHARE_PERCENT + part * unit;
	return true;
}

static void put_share(struct text *text, uint64_t share)
{
	uint64_t part = share % SHARE_PERCENT;

	text_put_literal(text, "\"");
	text_put_u64(text, share / SHARE_PERCENT);
	if (part)
		text_put_literal(text, ".");
	for (uint64_t unit = SHARE_PERCENT / 10; part; unit /= 10) {
		text_put_u64(text, part / unit);
		part %= unit;
	}
	text_put_literal(text, "%\"");
}

static bool is_text(const struct option_entry *entry)
{
	return entry->type == OPTION_IS_TEXT || entry->type == OPTION_IS_CONDITION;
}

/* Whether it is a value; of a number or choice, which. */
static bool parse(const struct option_entry *entry, const char *value, size_t bytes,
		  uint64_t *number)
{
	struct condition condition;

	switch (entry->type) {
	case OPTION_IS_NUMBER:
		return text_parse_u64(value, bytes, number) && *number >= entry->least &&
		       *number <= entry->most;
	case OPTION_IS_CHOICE:
		return find_word(entry->words, value, bytes, number);
	case OPTION_IS_SHARE:
		return parse_share(value, bytes, number) && *number <= entry->most;
	case OPTION_IS_CONDITION:
		return condition_parse(value, bytes, &condition, NULL) &&
		       !condition_site(&condition);
	case OPTION_IS_TEXT:
		break;
	}
	return bytes <= entry->most;
}

bool options_accept(const struct option_entry *entry, const char *value, size_t bytes)
{
	uint64_t number;

	return parse(entry, value, bytes, &number);
}

void options_set(struct options *options, const struct option_entry *entry, const char *value,
		 size_t bytes)
{
	void *to = (char *)options + entry->offset;
	uint64_t number = 0;
	bool is_value = parse(entry, value, bytes, &number);

	assert(is_value);
	if (!is_value)
		return;
	if (!is_text(entry)) {
		memcpy(to, &number, sizeof(number));
		return;
	}
	memset(to, 0, entry->most + 1);
	memcpy(to, value, bytes);
}

void options_put_allowed(struct text *text, const struct option_entry *entry)
{
	if (entry->type == OPTION_IS_CHOICE) {
		put_words(text, entry->words);
	} else if (entry->type == OPTION_IS_SHARE) {
		text_put_literal(text, "a percentage up to 100, as 1% or 0.5");
	} else if (entry->type == OPTION_IS_CONDITION) {
		text_put_literal(text, "a condition as wcprof-enable(1) has them");
	} else if (entry->type == OPTION_IS_TEXT) {
		text_put(text, entry->words);
		text_put_literal(text, " of at most ");
		text_put_u64(text, entry->most);
		text_put_literal(text, " bytes");
	} else if (entry->least == 0 && entry->most == 1) {
		text_put_literal(text, "0 or 1");
	} else {
		text_put_literal(text, "a number from ");
		text_put_u64(text, entry->least);
		text_put_literal(text, " to ");
		text_put_u64(text, entry->most);
	}
}

void options_put_why(struct text *text, const struct option_entry *entry, const char *value,
		     size_t bytes)
{
	struct condition condition;

	if (entry->type != OPTION_IS_CONDITION)
		return;
	text_put_literal(text, ": ");
	if (condition_parse(value, bytes, &condition, text))
		text_put_literal(text, "lock@ is known to wcprof probe --when alone");
}

void options_put_value(struct text *text, const struct options *options,
		       const struct option_entry *entry)
{
	const void *from = (const char *)options + entry->offset;
	uint64_t number = 0;

	if (is_text(entry)) {
		text_put_json(text, from, strlen(from));
		return;
	}
	memcpy(&number, from, sizeof(number));
	if (entry->type == OPTION_IS_CHOICE)
		put_word(text, entry->words, number);
	else if (entry->type == OPTION_IS_SHARE)
		put_share(text, number);
	else
		text_put_u64(text, number);
}

/* --- The environment ------------------------------------------------------------------------- */

static void complain(const struct option_entry *entry, const char *value)
{
	char line[512];
	struct text text = { .bytes = line, .size = sizeof(line) };

	text_put_json(&text, value, strnlen(value, VALUE_BYTES_SHOWN));
	text_put_literal(&text, " is not ");
	options_put_allowed(&text, entry);
	options_put_why(&text, entry, value, strlen(value));
	text_put_literal(&text, ": the default is used");
	(void)text_end(&text);
	text_complain(entry->variable, line);
}

static void read_one(struct options *options, const struct option_entry *entry,
		     const char *(*get)(const char *name))
{
	const char *value = entry->variable[0] ? get(entry->variable) : NULL;

	if (is_text(entry))
		memset((char *)options + entry->offset, 0, entry->most + 1);
	else
		memcpy((char *)options + entry->offset, &entry->usual, sizeof(entry->usual));
	if (!value || !*value)
		return;
	if (options_accept(entry, value, strlen(value)))
		options_set(options, entry, value, strlen(value));
	else
		complain(entry, value);
}

void options_read(struct options *options, const char *(*get)(const char *name))
{
	for (int i = 0; i < OPTION_COUNT; i++)
		read_one(options, &option_entries[i], get);
	read_one(options, &runtime_dir, get);
}
