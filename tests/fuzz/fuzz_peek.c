/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes, as the beginning of a request: no other byte is read, and the same bytes have the same
 * kind. Only letters, digits and a few signs get into it.
 *
 * Input: how many bytes came beyond those that are there (1); the bytes.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "peek.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum peek_result fold(const uint8_t *data, size_t count, uint64_t amount, struct text *text)
{
	uint8_t *bytes = malloc(count ? count : 1);
	enum peek_result result;
	uint64_t first_bytes;

	memcpy(bytes, data, count);
	errno = ERANGE;
	result = peek_fold(&(struct peeked){ bytes, count, amount }, text, &first_bytes);
	if (errno != ERANGE)
		abort();
	free(bytes);
	return result;
}

static void check_text(const struct text *text)
{
	static const char signs[] = " /*._-$()";

	if (text->used == 0 || text->overflowed)
		abort();
	for (size_t i = 0; i < text->used; i++)
		if (!peek_is_letter((uint8_t)text->bytes[i]) &&
		    !peek_is_digit((uint8_t)text->bytes[i]) && !strchr(signs, text->bytes[i]))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char first[PEEK_TEXT_BYTES], again[PEEK_TEXT_BYTES];
	struct text text = { .bytes = first, .size = sizeof(first) };
	struct text other = { .bytes = again, .size = sizeof(again) };
	size_t count = size > 1 ? size - 1 : 0;
	enum peek_result result;

	if (count == 0)
		return 0;
	if (count > PEEK_BYTES_MAX)
		count = PEEK_BYTES_MAX;
	result = fold(data + 1, count, count + data[0], &text);
	if (result != fold(data + 1, count, count + data[0], &other))
		abort();
	if (result != PEEK_KNOWN)
		return 0;
	check_text(&text);
	if (text.used != other.used || memcmp(first, again, text.used) != 0)
		abort();
	return 0;
}
