/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON into a buffer, which is compressed when it is full; jsongz.h has the contract.
 */
#include "jsongz.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "gzipfile.h"

enum { BUFFER_BYTES = 1 << 16, NUMBER_BYTES = 32 };

struct jsongz {
	struct gzip_file *gzip;
	size_t length;
	char plain[BUFFER_BYTES];
};

struct jsongz *jsongz_new(FILE *file)
{
	struct jsongz *json = memory_new(1, sizeof(*json));
	json->gzip = gzip_file_open(file);
	if (json->gzip)
		return json;
	fputs("wcprof-analyze: out of memory\n", stderr);
	exit(2);
}

static void pack(struct jsongz *json)
{
	gzip_file_write(json->gzip, json->plain, json->length);
	json->length = 0;
}

void jsongz_end(struct jsongz *json)
{
	pack(json);
	gzip_file_close(json->gzip);
	free(json);
}

static void put_bytes(struct jsongz *json, const char *bytes, size_t count)
{
	while (count > 0) {
		size_t room = BUFFER_BYTES - json->length, part = count < room ? count : room;
		memcpy(json->plain + json->length, bytes, part);
		json->length += part;
		bytes += part;
		count -= part;
		if (json->length == BUFFER_BYTES)
			pack(json);
	}
}

void jsongz_raw(struct jsongz *json, const char *text)
{
	put_bytes(json, text, strlen(text));
}

/* Its digits end at `end`; returns where they begin. */
static char *digits(char *end, uint64_t number)
{
	do
		*--end = (char)('0' + number % 10);
	while (number /= 10);
	return end;
}

void jsongz_number(struct jsongz *json, uint64_t number)
{
	char text[NUMBER_BYTES], *end = text + sizeof(text), *begin = digits(end, number);
	put_bytes(json, begin, (size_t)(end - begin));
}

void jsongz_ms(struct jsongz *json, uint64_t ns)
{
	enum { NS = 1000000, NS_DIGITS = 6 };
	char text[NUMBER_BYTES], *end = text + sizeof(text);
	uint32_t fraction = (uint32_t)(ns % NS);
	char *at = end;
	for (int i = 0; i < NS_DIGITS; i++, fraction /= 10)
		*--at = (char)('0' + fraction % 10);
	while (end > at && end[-1] == '0')
		end--;
	if (end > at)
		*--at = '.';
	char *begin = digits(at, ns / NS);
	put_bytes(json, begin, (size_t)(end - begin));
}

void jsongz_text(struct jsongz *json, const char *text)
{
	char *printable = utf8_printable(text);
	put_bytes(json, "\"", 1);
	for (const char *at = printable; *at;) {
		size_t plain = strcspn(at, "\"\\");
		put_bytes(json, at, plain);
		at += plain;
		if (!*at)
			break;
		put_bytes(json, "\\", 1);
		put_bytes(json, at++, 1);
	}
	put_bytes(json, "\"", 1);
	free(printable);
}
