/* SPDX-License-Identifier: Apache-2.0 */
/* If this failed, rows would be cut off, or a full disk would go unnoticed. */
#include "export/zstdfile.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "suite.h"

static size_t pack(const char *bytes, size_t length, char **packed)
{
	size_t packed_length;
	FILE *below = open_memstream(packed, &packed_length);
	FILE *file = zstd_file_open(below);
	ck_assert_uint_eq(fwrite(bytes, 1, length, file), length);
	ck_assert_int_eq(fclose(file), 0);
	return packed_length;
}

START_TEST(what_went_in_comes_out)
{
	static const size_t lengths[] = { 0, 1, 1000, 3000000 };
	size_t length = lengths[_i];
	char *bytes = malloc(length + 1), *again = malloc(length + 1), *packed, *twice;
	uint32_t random = 1;
	for (size_t i = 0; i < length; i++)
		bytes[i] = (char)((random = random * 1664525 + 1013904223) >> 24);
	size_t packed_length = pack(bytes, length, &packed);
	ck_assert_uint_eq(ZSTD_decompress(again, length + 1, packed, packed_length), length);
	ck_assert(memcmp(bytes, again, length) == 0);
	ck_assert_uint_eq(pack(bytes, length, &twice), packed_length);
	ck_assert(memcmp(packed, twice, packed_length) == 0);
	free(bytes);
	free(again);
	free(packed);
	free(twice);
}
END_TEST

START_TEST(a_full_disk_is_told)
{
	FILE *full = fopen("/dev/full", "w");
	ck_assert_ptr_nonnull(full);
	FILE *file = zstd_file_open(full);
	fputs("text", file);
	ck_assert_int_ne(fclose(file), 0);
}
END_TEST

SUITE()
{
	LOOP(what_went_in_comes_out, 0, 4);
	TEST(a_full_disk_is_told);
}
