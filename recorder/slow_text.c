/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules as text. See slow_text.h.
 *
 * A file is read to its end before anything is done, and again for that; once in a process. A
 * forked child may have another working directory: so the path is made absolute when it is read
 * first.
 */
#include "slow_text.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "gate.h"
#include "lines.h"
#include "options.h"
#include "slow.h"
#include "syscalls.h"
#include "text.h"

#include "in_target.h"

enum { KEY_DIGITS_MAX = 16, FACTOR_DECIMALS = 3 };

static const struct {
	const char *word;
	enum slow_bit bit;
} words[] = {
	{ "hold", SLOW_HOLD },   { "call", SLOW_CALL },         { "op", SLOW_OP },
	{ "wake", SLOW_WAKE },   { "progress", SLOW_PROGRESS }, { "routine", SLOW_ROUTINE },
	{ "range", SLOW_RANGE },
};

enum { WORD_COUNT = sizeof(words) / sizeof(words[0]) };

static int digit_of(char character)
{
	if (character >= '0' && character <= '9')
		return character - '0';
	if (character >= 'a' && character <= 'f')
		return character - 'a' + 10;
	return character >= 'A' && character <= 'F' ? character - 'A' + 10 : -1;
}

/* How many bytes the number has; 0: it is none. */
static size_t read_hex(const char *from, size_t bytes, uint64_t *value)
{
	size_t length = 0;

	*value = 0;
	while (length < bytes && length < KEY_DIGITS_MAX && digit_of(from[length]) >= 0)
		*value = *value << 4 | (uint64_t)digit_of(from[length++]);
	return length;
}

/* One key, or key:from:to, at `*at`, which is moved behind it. */
static int add_rule(enum slow_bit bit, const char **at, const char *end, bool is_rehearsal)
{
	uint64_t numbers[3] = { 0, 0, 0 };
	int count = bit == SLOW_RANGE ? 3 : 1;

	for (int i = 0; i < count; i++) {
		size_t length = read_hex(*at, (size_t)(end - *at), &numbers[i]);

		*at += length;
		if (length == 0 || (i + 1 < count && (*at == end || *(*at)++ != ':')))
			return -EINVAL;
	}
	if (numbers[0] == 0 || (count > 1 && numbers[2] <= numbers[1]))
		return -EINVAL;
	if (is_rehearsal)
		return 0;
	return bit == SLOW_RANGE ? slow_add_range(numbers[0], numbers[1], numbers[2])
				 : slow_add_rule(bit, numbers[0]);
}

static int add_rules(enum slow_bit bit, const char *at, const char *end, bool is_rehearsal)
{
	int result = at < end ? 0 : -EINVAL;

	while (at < end && result == 0) {
		result = add_rule(bit, &at, end, is_rehearsal);
		if (result == 0 && at < end && (*at++ != ',' || at == end))
			return -EINVAL;
	}
	return result;
}

static bool is_word(const char *word, size_t bytes, const char *wanted)
{
	return bytes == strlen(wanted) && memcmp(word, wanted, bytes) == 0;
}

int slow_text_add(const char *word, size_t word_bytes, const char *keys, size_t key_bytes,
		  bool is_rehearsal)
{
	for (int i = 0; i < WORD_COUNT; i++)
		if (is_word(word, word_bytes, words[i].word))
			return add_rules(words[i].bit, keys, keys + key_bytes, is_rehearsal);
	return -ENOENT;
}

bool slow_text_factor(const char *from, size_t bytes, uint32_t *thousandths)
{
	const char *dot = memchr(from, '.', bytes);
	size_t whole_bytes = dot ? (size_t)(dot - from) : bytes;
	size_t decimals = dot ? bytes - whole_bytes - 1 : 0;
	uint64_t whole, part = 0;

	if (!text_parse_u64(from, whole_bytes, &whole) || whole < 1 || whole > 10 ||
	    (dot && (decimals > FACTOR_DECIMALS || !text_parse_u64(dot + 1, decimals, &part))))
		return false;
	for (size_t i = decimals; i < FACTOR_DECIMALS; i++)
		part *= 10;
	*thousandths = (uint32_t)((whole - 1) * 1000 + part);
	return *thousandths <= SLOW_THOUSANDTHS_MAX;
}

/* --- A file ----------------------------------------------------------------------------------- */

struct reading {
	struct lines lines;
	uint32_t thousandths;
	bool has_factor;
};

/* "WORD VALUE", empty, or a comment. 0, or as slow_text_add(). */
static int take_line(struct reading *reading, const char *line, bool is_rehearsal)
{
	size_t length = strcspn(line, " ");
	const char *value = line + length + (line[length] == ' ');

	if (line[0] == '\0' || line[0] == '#')
		return 0;
	if (!is_word(line, length, "factor"))
		return slow_text_add(line, length, value, strlen(value), is_rehearsal);
	reading->has_factor = slow_text_factor(value, strlen(value), &reading->thousandths);
	return reading->has_factor ? 0 : -EINVAL;
}

/* A pipe could keep the control thread waiting, and cannot be read twice. */
static bool open_file(struct lines *lines, const char *path)
{
	struct stat status;

	if (!lines_open(lines, path))
		return false;
	if (sys_fstat(lines->fd, &status) == 0 && S_ISREG(status.st_mode))
		return true;
	lines_close(lines);
	return false;
}

/* False, and `what` says why. */
static bool take_file(struct reading *reading, const char *path, bool is_rehearsal,
		      struct text *what)
{
	uint64_t number = 1;
	int result = 0;
	char *line;

	if (!open_file(&reading->lines, path)) {
		text_put_literal(what, "no file that can be read");
		return false;
	}
	for (line = lines_next(&reading->lines); line && result == 0; number += result == 0) {
		result = take_line(reading, line, is_rehearsal);
		if (result == 0)
			line = lines_next(&reading->lines);
	}
	lines_close(&reading->lines);
	if (result == 0)
		return true;
	text_put_literal(what, "line ");
	text_put_u64(what, number);
	text_put(what, result == -ENOMEM   ? ": no memory for the rules"
		       : result == -ENOSPC ? ": too many rules"
					   : ": no rule");
	return false;
}

static void make_absolute(char path[OPTION_PATH_BYTES])
{
	char whole[2 * OPTION_PATH_BYTES];
	struct text text = { .bytes = whole, .size = sizeof(whole) };

	if (path[0] == '/' || SYS3(getcwd, whole, OPTION_PATH_BYTES, 0) <= 0)
		return;
	text.used = strlen(whole);
	text_put_literal(&text, "/");
	text_put(&text, path);
	if (text_end(&text) && text.used < OPTION_PATH_BYTES)
		memcpy(path, whole, text.used + 1);
}

/* A control thread that comes back finds the rules as they were, and perhaps no file any more. */
static bool is_first_time(void)
{
	static uint32_t loads; /* generation of the process that has loaded, plus 1 */
	bool is_first = loads != gate_generation() + 1;

	loads = gate_generation() + 1;
	return is_first;
}

void slow_text_load(void)
{
	struct reading reading = { .has_factor = false };
	char message[OPTION_PATH_BYTES + 64];
	struct text what = { .bytes = message, .size = sizeof(message) };
	char *path = recorder_options.slow;

	if (!path[0] || !is_first_time())
		return;
	make_absolute(path);
	text_put(&what, path);
	text_put_literal(&what, ": ");
	if (take_file(&reading, path, true, &what) && take_file(&reading, path, false, &what)) {
		if (reading.has_factor)
			slow_begin_window(reading.thousandths, SLOW_FOR_EVER_NS);
		return;
	}
	slow_clear();
	(void)text_end(&what);
	text_complain("nothing is made slower:", message);
}
