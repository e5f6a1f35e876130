/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One copy of every string of a recording: equal texts have equal ids.
 *
 * Ids count from 0 = "" and never change. Texts stay where they are until the recording is freed;
 * the array of pointers (recording->strings) may move with each new text. One thread.
 */
#ifndef WCPROF_INTERN_H
#define WCPROF_INTERN_H

#include <stddef.h>
#include <stdint.h>

struct recording;
struct intern;

/*
 * The id of this text in recording->strings, which it is added to when it is not there yet;
 * NO_INDEX without memory. Works on a recording that was put together by hand, too.
 */
uint32_t recording_intern(struct recording *recording, const char *text);

/* The same for text that need not end in a NUL and has none inside. */
uint32_t recording_intern_bytes(struct recording *recording, const char *bytes, size_t byte_count);

/* Another string of the same text, which is never found by it. NO_INDEX: no memory. */
uint32_t recording_add_twin(struct recording *recording, uint32_t string);

void intern_free(struct intern *intern);

#endif
