/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cuts names, and cuts those that became equal once more, around the place where they differ.
 *
 * Names that are equal after a cut have a longest common beginning. Showing what comes right after
 * it tells two of them apart at least; the next round does so with those that are still equal.
 */
#include "shorten.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "utf8.h"

enum { ROUNDS = 64, PARTS_MIN = 12 /* columns that have room for three parts */ };

struct name {
	char *whole, *shown;
	size_t place; /* in the list */
};

static int compare_names(const void *left, const void *right)
{
	const struct name *a = left, *b = right;
	int order = strcmp(a->shown, b->shown);
	return order ? order : strcmp(a->whole, b->whole);
}

/* The last start of a character at or before `at`. */
static size_t character_start(const char *text, size_t at)
{
	while (at > 0 && ((unsigned char)text[at] & 0xC0) == 0x80)
		at--;
	return at;
}

/* Where the last `columns` columns begin, at most. */
static size_t tail_start(const char *text, size_t columns)
{
	size_t total = utf8_columns(text), at, length;
	at = utf8_bytes_in(text, total > columns ? total - columns : 0);
	if (text[at] && utf8_columns(text + at) > columns) {
		utf8_next(text + at, &length);
		at += length;
	}
	return at;
}

/* "head..part..tail", where the part begins a little before `at`. */
static char *cut_around(const char *text, size_t columns, size_t at)
{
	size_t side = (columns - 4) / 4, middle = columns - 4 - 2 * side;
	size_t head = utf8_bytes_in(text, side), tail = tail_start(text, side);
	size_t from = character_start(text, at > side / 2 ? at - side / 2 : 0);
	char *shown = memory_new(strlen(text) + 5, 1);
	if (from < head)
		from = head;
	size_t to = from + utf8_bytes_in(text + from, middle);
	if (to >= tail) { /* the part and the tail meet */
		from = tail_start(text, middle + side + 2);
		to = tail = strlen(text);
	}
	memcpy(shown, text, head);
	sprintf(shown + head, "..%.*s%s%s", (int)(to - from), text + from, text[tail] ? ".." : "",
		text + tail);
	return shown;
}

/* Names of the sorted list that are equal although they are not the same; false: there are none. */
static bool cut_equal_ones(struct name *names, size_t count, size_t columns)
{
	bool has_any = false;
	for (size_t from = 0, to; from < count; from = to) {
		for (to = from + 1; to < count && !strcmp(names[from].shown, names[to].shown);)
			to++;
		const char *first = names[from].whole, *last = names[to - 1].whole;
		size_t common = 0;
		while (first[common] && first[common] == last[common])
			common++;
		if (first[common] == last[common])
			continue;
		has_any = true;
		for (size_t i = from; i < to; i++) {
			if (utf8_columns(names[i].whole) <= columns)
				continue;
			char *shown = cut_around(names[i].whole, columns,
						 character_start(names[i].whole, common));
			free(names[i].shown);
			names[i].shown = shown;
		}
	}
	return has_any;
}

void shorten_all(char **names, size_t count, size_t columns)
{
	struct name *list = memory_new(count, sizeof(*list));
	for (size_t i = 0; i < count; i++)
		list[i] = (struct name){ names[i], utf8_shorten(names[i], columns), i };
	for (int round = 0; columns >= PARTS_MIN && round < ROUNDS; round++) {
		qsort(list, count, sizeof(*list), compare_names);
		if (!cut_equal_ones(list, count, columns))
			break;
	}
	for (size_t i = 0; i < count; i++) {
		names[list[i].place] = list[i].shown;
		free(list[i].whole);
	}
	free(list);
}
