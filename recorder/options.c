/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment, read once. See options.h and options.def.
 */
#include "options.h"

#include <string.h>

#include "text.h"
#include "watch.h"

#include "in_target.h"

struct options recorder_options;

static void complain(const char *name, const char *value, const char *expected)
{
	char line[400];
	struct text text = { .bytes = line, .size = sizeof(line) };

	text_put_json(&text, value, strnlen(value, 40));
	text_put_literal(&text, " is not ");
	text_put(&text, expected);
	text_put_literal(&text, ": the default is used");
	(void)text_end(&text);
	text_complain(name, line);
}

static uint64_t read_number(const char *name, const char *value, uint64_t usual, uint64_t least,
			    uint64_t most)
{
	char expected[96];
	struct text text = { .bytes = expected, .size = sizeof(expected) };
	uint64_t number = 0;

	if (!value || !*value)
		return usual;
	if (text_parse_u64(value, strlen(value), &number) && number >= least && number <= most)
		return number;
	text_put_literal(&text, "a number from ");
	text_put_u64(&text, least);
	text_put_literal(&text, " to ");
	text_put_u64(&text, most);
	(void)text_end(&text);
	complain(name, value, expected);
	return usual;
}

/* Index of `value` among words separated by |. */
static uint64_t read_choice(const char *name, const char *value, uint64_t usual, const char *words)
{
	uint64_t index = 0;

	if (!value || !*value)
		return usual;
	for (const char *word = words; word; index++) {
		const char *bar = strchr(word, '|');
		size_t length = bar ? (size_t)(bar - word) : strlen(word);

		if (strlen(value) == length && memcmp(value, word, length) == 0)
			return index;
		word = bar ? bar + 1 : NULL;
	}
	complain(name, value, words);
	return usual;
}

static void read_path(const char *name, const char *value, char *to)
{
	to[0] = '\0';
	if (!value)
		return;
	if (strlen(value) >= OPTION_PATH_BYTES)
		complain(name, value, "a path of less than 1024 bytes");
	else
		memcpy(to, value, strlen(value) + 1);
}

void options_read(struct options *options, const char *(*get)(const char *name))
{
#define OPTION_NUMBER(field, name, value, least, most, unit, help) \
	options->field = read_number(name, get(name), value, least, most);
#define OPTION_CHOICE(field, name, value, words, help) \
	options->field = read_choice(name, get(name), value, words);
#define OPTION_PATH(field, name, shown, help) read_path(name, get(name), options->field);
#include "options.def"
	read_path("XDG_RUNTIME_DIR", get("XDG_RUNTIME_DIR"), options->runtime_dir);
}
