/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process context of OpenTelemetry (OTEP 4719): attributes that a process publishes of itself,
 * in a mapping called OTEL_CTX.
 *
 * Nothing of it is believed but as a text. It is another process's memory, which may change while
 * it is read. One thread.
 */
#ifndef WCPROF_PUBLISHED_H
#define WCPROF_PUBLISHED_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { PUBLISHED_TEXT_BYTES = 256, PUBLISHED_PAYLOAD_BYTES = 65536 };

/* An attribute whose value is a text; longer ones are left out. */
typedef void published_see(void *context, const char *key, const char *value);

/* Of its encoding, a message of Protocol Buffers. False: that ends within a field; what came before
 * was seen. */
bool published_parse(const unsigned char *bytes, size_t count, published_see *see, void *context);
/* Of a process. False: it publishes none, or nobody may know. */
bool published_read(pid_t pid, published_see *see, void *context);

#endif
