/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One profile in the making, as pprof reads it (profile.proto). Samples that are alike are added
 * up; all are written as one gzipped file.
 *
 * A sample has a stack of the recording, and perhaps a last frame with a text of its own. It has
 * labels, and a value for each of the profile's types. One thread to a profile; the recording, the
 * names and the shape must live longer.
 */
#ifndef WCPROF_PROFILE_H
#define WCPROF_PROFILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "names/framenames.h"
#include "recording/recording.h"

enum { PROFILE_TYPES_MAX = 5, PROFILE_LABELS_MAX = 18 };

struct profile_type {
	const char *type;
	const char *unit;
};

/* Of a label. */
enum profile_values {
	PROFILE_TEXTS,
	PROFILE_NUMBERS,
	PROFILE_DIGITS /* numbers, each given as the text of its hexadecimal digits */
};

struct profile_key {
	const char *key;
	enum profile_values values;
};

/* Types and labels, the same in all samples of a profile. */
struct profile_shape {
	struct profile_type types[PROFILE_TYPES_MAX];
	uint32_t type_count;
	uint32_t default_type; /* that is shown first */
	const struct profile_key *keys;
	uint32_t key_count; /* at most PROFILE_LABELS_MAX */
};

struct profile_facts {
	uint64_t begin_unix_ns;
	uint64_t duration_ns;
	const char *const *comments;
	size_t comment_count;
};

struct profile;

/* `names` with the names of all stacks that will be added. */
struct profile *profile_new(const struct recording *recording, const struct frame_names *names,
			    const struct profile_shape *shape);
void profile_free(struct profile *profile);

/* The number of a text in this profile; 0 for "". */
uint32_t profile_text(struct profile *profile, const char *text);
/* That of a string of the recording. */
uint32_t profile_string(struct profile *profile, uint32_t string);

/* `stack` and `leaf` (the text of a last frame) may be 0. `labels`: one for each key, a text or a
 * number, 0 = none. */
void profile_add(struct profile *profile, uint32_t stack, uint32_t leaf, const uint32_t *labels,
		 const uint64_t *values);

/* The samples, in the order in which they came, for another format. */
struct profile_sample {
	uint32_t stack;
	const char *leaf; /* "" = none */
	/* By key: a number, or a text's, which is in `texts` too; 0 = none. */
	const uint32_t *numbers;
	const char *texts[PROFILE_LABELS_MAX];
	const uint64_t *values; /* by type */
};
const struct profile_shape *profile_shape(const struct profile *profile);
size_t profile_sample_count(const struct profile *profile);
struct profile_sample profile_sample(const struct profile *profile, size_t index);

/* False: errno. The file stays open. */
bool profile_write(struct profile *profile, FILE *file, const struct profile_facts *facts);

#endif
