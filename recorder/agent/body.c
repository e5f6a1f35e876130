/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growing bytes. See body.h.
 */
#include "body.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "visible.h"

enum { FIRST_BYTES = 1024, READ_BYTES = 65536, TEXT_BYTES = 1024 };

void body_free(struct body *body)
{
	free(body->bytes);
	*body = (struct body){ 0 };
}

/* Where so many bytes may be put; NULL: there is no memory. */
static char *reserve(struct body *body, size_t count)
{
	size_t room = body->room ? body->room : FIRST_BYTES;
	char *grown;

	if (body->has_failed)
		return NULL;
	if (body->room - body->used >= count && body->bytes)
		return body->bytes + body->used;
	while (room - body->used < count)
		room *= 2;
	grown = realloc(body->bytes, room);
	if (!grown) {
		body->has_failed = true;
		return NULL;
	}
	body->bytes = grown;
	body->room = room;
	return grown + body->used;
}

void body_put(struct body *body, const void *bytes, size_t count)
{
	char *to = reserve(body, count);

	if (!to || count == 0)
		return;
	memcpy(to, bytes, count);
	body->used += count;
}

void body_puts(struct body *body, const char *text)
{
	body_put(body, text, strlen(text));
}

void body_printf(struct body *body, const char *format, ...)
{
	char text[TEXT_BYTES];
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	assert(length >= 0 && (size_t)length < sizeof(text));
	body_put(body, text, (size_t)length);
}

void body_put_json(struct body *body, const char *text)
{
	body_puts(body, visible_json(text));
}

void body_put_base64(struct body *body, const void *bytes, size_t count)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *from = bytes;
	char *to = reserve(body, (count + 2) / 3 * 4);

	if (!to)
		return;
	for (size_t i = 0; i < count; i += 3) {
		unsigned left = count - i > 3 ? 3 : (unsigned)(count - i);
		unsigned bits = (unsigned)from[i] << 16;

		bits |= left > 1 ? (unsigned)from[i + 1] << 8 : 0;
		bits |= left > 2 ? from[i + 2] : 0;
		*to++ = digits[bits >> 18];
		*to++ = digits[bits >> 12 & 63];
		*to++ = left > 1 ? digits[bits >> 6 & 63] : '=';
		*to++ = left > 2 ? digits[bits & 63] : '=';
	}
	body->used += (count + 2) / 3 * 4;
}

int body_put_file(struct body *body, const char *path, size_t most)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	size_t before = body->used;
	ssize_t got = 1;

	if (fd < 0)
		return -errno;
	while (got > 0 && body->used - before <= most) {
		char *to = reserve(body, READ_BYTES);

		got = to ? read(fd, to, READ_BYTES) : -1;
		body->used += got > 0 ? (size_t)got : 0;
	}
	close(fd);
	if (got < 0)
		return body->has_failed ? -ENOMEM : -EIO;
	return body->used - before > most ? -EFBIG : 0;
}
