/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes that grow at their end: bodies of requests, the text of metrics.
 *
 * Without memory a body is marked as failed, and takes no more. Its user looks at that once, at the
 * end. An empty one is of zeros.
 */
#ifndef WCPROF_BODY_H
#define WCPROF_BODY_H

#include <stdbool.h>
#include <stddef.h>

struct body {
	char *bytes;
	size_t used, room;
	bool has_failed;
};

void body_free(struct body *body);
void body_put(struct body *body, const void *bytes, size_t count);
void body_puts(struct body *body, const char *text);
void body_printf(struct body *body, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* In quotes, as JSON; bytes that are no UTF-8 become U+FFFD. */
void body_put_json(struct body *body, const char *text);
void body_put_base64(struct body *body, const void *bytes, size_t count);
/* A file of at most so many bytes: 0, or -errno; -EFBIG: it is larger. */
int body_put_file(struct body *body, const char *path, size_t most);

#endif
