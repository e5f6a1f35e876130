/* SPDX-License-Identifier: Apache-2.0 */
/* If this failed, a profile would be cut short, or a full disk would go unnoticed. */
#include <errno.h>
#include <string.h>
#include <zlib.h>

#include "export/gzipfile.h"
#include "suite.h"

enum { PART = 100000, PARTS = 30 };

/* Noise, which does not get shorter. */
static const unsigned char *noise(void)
{
	static unsigned char bytes[PART];
	uint32_t state = 1;
	for (size_t i = 0; i < PART; i++)
		bytes[i] = (unsigned char)((state = state * 1664525 + 1013904223) >> 24);
	return bytes;
}

START_TEST(bytes_come_back)
{
	static unsigned char back[PART];
	FILE *file = tmpfile();
	struct gzip_file *gzip = gzip_file_open(file);
	for (int i = 0; i < PARTS; i++)
		gzip_file_write(gzip, noise(), PART);
	gzip_file_write(gzip, "", 0);
	ck_assert(gzip_file_close(gzip));
	rewind(file);
	gzFile reader = gzdopen(fileno(file), "rb");
	for (int i = 0; i < PARTS; i++) {
		ck_assert_int_eq(gzread(reader, back, PART), PART);
		ck_assert_mem_eq(back, noise(), PART);
	}
	ck_assert_int_eq(gzread(reader, back, PART), 0);
	ck_assert_int_eq(gzclose(reader), Z_OK);
}
END_TEST

START_TEST(a_full_disk_is_told)
{
	FILE *file = fopen("/dev/full", "w");
	struct gzip_file *gzip = gzip_file_open(file);
	for (int i = 0; i < PARTS * _i; i++) /* also at the end only */
		gzip_file_write(gzip, noise(), PART);
	ck_assert(!gzip_file_close(gzip));
	ck_assert_int_eq(errno, ENOSPC);
	fclose(file);
}
END_TEST

SUITE()
{
	TEST(bytes_come_back);
	LOOP(a_full_disk_is_told, 0, 2);
}
