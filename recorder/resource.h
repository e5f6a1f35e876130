/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The service that a process is, by the message in which its tracer says so: OpenTelemetry's
 * ProcessContext, in the encoding of Protocol Buffers.
 *
 * The bytes are the program's, so nothing in them is believed: lengths are held against the end.
 * Any thread; no allocation.
 */
#ifndef WCPROF_RESOURCE_H
#define WCPROF_RESOURCE_H

#include "format.h"
#include "recorder.h"

/* Takes the texts that the message has; others stay. False: the message is none, or it is cut off;
 * what came before that is taken. */
bool resource_read(struct deployment *, const uint8_t *bytes, size_t byte_count) HIDDEN;

/* Takes a text if `key` is one of those that a service has: service.name ... */
void resource_take(struct deployment *, const char *key, size_t key_bytes, const char *text,
		   size_t text_bytes) HIDDEN;

#endif
