/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The requests that carry a window's profiles: one body for each protocol of uploads.def.
 *
 * All profiles of a window go in one request, so a receiver has them together or not at all. Bodies
 * are made from bytes alone: nothing here knows of connections.
 */
#ifndef WCPROF_UPLOAD_H
#define WCPROF_UPLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "body.h"
#include "config.h"
#include "tags.h"

enum upload_profile {
#define PROFILE(name, type, attachment) UPLOAD_##name,
#include "profiles.def"
#undef PROFILE
	UPLOAD_PROFILES
};

enum {
	/* Of one file that wcprof-analyze wrote. */
	UPLOAD_FILE_BYTES_MAX = 33554432,
	/* Pyroscope takes no larger profile, as it is when it is unpacked. */
	UPLOAD_UNPACKED_BYTES_MAX = 4194304
};

/* Profiles of a process between two moments of the machine's clock. */
struct upload_window {
	const struct tags *tags;
	uint64_t begin_ns, end_ns;
	uint64_t share_ppm; /* of that time that was recorded */
	/* Files as wcprof-analyze wrote them; an empty one is not there. */
	struct body profiles[UPLOAD_PROFILES];
	struct body otlp;
	struct body provenance;
};

struct upload_request {
	struct body body;
	char content_type[96];
};

/* Reads the files of a directory. How many profiles were left out, being too large. */
unsigned upload_read(struct upload_window *window, const char *directory);
void upload_free(struct upload_window *window);

/* Makes the request's body; false: there is nothing to be sent, or no memory. */
bool upload_make(enum config_protocol protocol, const struct upload_window *window,
		 struct upload_request *request);
const char *upload_path(enum config_protocol protocol);
/* False: a receiver that took the request took none or not all of it, as its answer says. */
bool upload_was_taken(enum config_protocol protocol, const char *answer, size_t count);

/* One of upload_*.c each. */
#define UPLOAD(name, path, meaning) \
	void upload_##name(const struct upload_window *window, struct upload_request *request);
#include "uploads.def"
#undef UPLOAD

bool upload_otlp_was_taken(const char *answer, size_t count);

/* How receivers of JSON want a series. */
struct upload_series {
	const char *service_key;               /* the label that has the service */
	const char *labels_begin, *labels_end; /* around "labels":[...] */
	bool has_ids;                          /* each sample has one */
};
/* "series":[...], one for each profile that there is. */
void upload_put_series(struct body *body, const struct upload_window *window,
		       const struct upload_series *series);
extern const char *const upload_types[UPLOAD_PROFILES];
extern const char *const upload_attachments[UPLOAD_PROFILES];
/* A number that is no other request's, as the text of a UUID. */
enum { UPLOAD_ID_BYTES = 37 };
void upload_put_id(char id[UPLOAD_ID_BYTES]);

#endif
