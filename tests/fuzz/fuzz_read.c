/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a dump: no crash, and what is accepted keeps read.h's promises.
 *
 * Every input is read twice, whole and in pieces of a few bytes, which must make no difference.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "read/read.h"

enum { STEP_BYTES = 7 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_count);

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void require_same(const struct recording *a, const struct recording *b)
{
	require(a->op_count == b->op_count && a->wait_count == b->wait_count &&
		a->link_count == b->link_count);
	require(a->string_count == b->string_count && a->stack_count == b->stack_count);
	require(a->end_ns == b->end_ns && a->truncated_files == b->truncated_files);
	require(a->op_count == 0 ||
		memcmp(&a->ops[a->op_count - 1], &b->ops[b->op_count - 1], sizeof(*a->ops)) == 0);
}

/* No longer way up than there are ops. */
static void require_ancestors_end(const struct recording *recording)
{
	size_t i, steps = 0;
	uint32_t op;

	for (i = 0; i < recording->op_count && i < 64; i++)
		for (steps = 0, op = (uint32_t)i; op != NO_INDEX; op = recording->ops[op].parent)
			require(steps++ < recording->op_count);
}

/* Compressed data is decompressed in pieces. Whether a bad line was met before the damage depends
 * on them. */
static bool is_damaged(const struct read_error *error)
{
	return strstr(error->text, "compressed data is damaged") != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_count)
{
	struct recording whole, pieces;
	struct read_error error, error_of_pieces;
	int status = recording_read_memory(&whole, "input", bytes, byte_count, SIZE_MAX, &error);
	int status_of_pieces = recording_read_memory(&pieces, "input", bytes, byte_count,
						     STEP_BYTES, &error_of_pieces);

	require((status == 0) == (status_of_pieces == 0));
	require(is_damaged(&error) || is_damaged(&error_of_pieces) ||
		(status == status_of_pieces && error.line == error_of_pieces.line &&
		 strcmp(error.text, error_of_pieces.text) == 0));
	require((status == 0) == (error.text[0] == '\0'));
	if (status == 0) {
		require(recording_is_valid(&whole) && recording_is_valid(&pieces));
		require_same(&whole, &pieces);
		require_ancestors_end(&whole);
	}
	recording_free(&whole);
	recording_free(&pieces);
	return 0;
}
