/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests. See upload.h; each protocol has a file of its own.
 */
#include "upload.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

enum { PATH_BYTES = 1024, GZIP_TRAILER_BYTES = 4 };

const char *const upload_types[UPLOAD_PROFILES] = {
#define PROFILE(name, type, attachment) type,
#include "profiles.def"
#undef PROFILE
};

const char *const upload_attachments[UPLOAD_PROFILES] = {
#define PROFILE(name, type, attachment) attachment,
#include "profiles.def"
#undef PROFILE
};

static const char *const files[UPLOAD_PROFILES] = {
#define PROFILE(name, type, attachment) #name ".pprof",
#include "profiles.def"
#undef PROFILE
};

static const struct {
	const char *path;
	void (*make)(const struct upload_window *window, struct upload_request *request);
} protocols[] = {
#define UPLOAD(name, path, meaning) { path, upload_##name },
#include "uploads.def"
#undef UPLOAD
};

/* As gzip says at the file's end. */
static uint32_t unpacked_bytes(const struct body *file)
{
	uint32_t bytes = 0;

	if (file->used >= GZIP_TRAILER_BYTES)
		memcpy(&bytes, file->bytes + file->used - GZIP_TRAILER_BYTES, sizeof(bytes));
	return bytes;
}

/* Leaves nothing of a file that cannot be read. */
static void read_file(struct body *to, const char *directory, const char *name)
{
	char path[PATH_BYTES];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	if (body_put_file(to, path, UPLOAD_FILE_BYTES_MAX) != 0)
		body_free(to);
}

unsigned upload_read(struct upload_window *window, const char *directory)
{
	unsigned too_large = 0;

	for (int i = 0; i < UPLOAD_PROFILES; i++) {
		read_file(&window->profiles[i], directory, files[i]);
		if (unpacked_bytes(&window->profiles[i]) <= UPLOAD_UNPACKED_BYTES_MAX)
			continue;
		body_free(&window->profiles[i]);
		too_large++;
	}
	read_file(&window->otlp, directory, "otlp.pb");
	read_file(&window->provenance, directory, "code-provenance.json");
	return too_large;
}

void upload_free(struct upload_window *window)
{
	for (int i = 0; i < UPLOAD_PROFILES; i++)
		body_free(&window->profiles[i]);
	body_free(&window->otlp);
	body_free(&window->provenance);
}

static bool is_empty(const struct upload_window *window)
{
	for (int i = 0; i < UPLOAD_PROFILES; i++)
		if (window->profiles[i].used > 0)
			return false;
	return true;
}

bool upload_make(enum config_protocol protocol, const struct upload_window *window,
		 struct upload_request *request)
{
	*request = (struct upload_request){ 0 };
	if (is_empty(window))
		return false;
	protocols[protocol].make(window, request);
	if (!request->body.has_failed && request->body.used > 0)
		return true;
	body_free(&request->body);
	return false;
}

const char *upload_path(enum config_protocol protocol)
{
	return protocols[protocol].path;
}

bool upload_was_taken(enum config_protocol protocol, const char *answer, size_t count)
{
	return protocol != CONFIG_otlp || upload_otlp_was_taken(answer, count);
}

static void put_label(struct body *body, const char *name, const char *value)
{
	if (!value[0])
		return;
	body_puts(body, ",{\"name\":");
	body_put_json(body, name);
	body_puts(body, ",\"value\":");
	body_put_json(body, value);
	body_puts(body, "}");
}

/* Never a pid or another id: each new value makes a series of its own in the receiver. */
static void put_labels(struct body *body, const struct upload_window *window,
		       enum upload_profile profile, const char *service_key)
{
	const struct tags *tags = window->tags;

	body_puts(body, "\"labels\":[{\"name\":\"__name__\",\"value\":");
	body_put_json(body, upload_types[profile]);
	body_puts(body, "}");
	put_label(body, service_key, tags->service);
	put_label(body, "version", tags->version);
	put_label(body, "environment", tags->environment);
	put_label(body, "host", tags->host);
	body_puts(body, "]");
}

void upload_put_id(char id[UPLOAD_ID_BYTES])
{
	unsigned char bytes[16] = { 0 };
	size_t used = 0;

	(void)getrandom(bytes, sizeof(bytes), 0);
	bytes[6] = (bytes[6] & 0x0f) | 0x40; /* version 4: by chance */
	bytes[8] = (bytes[8] & 0x3f) | 0x80;
	for (size_t i = 0; i < sizeof(bytes); i++)
		used += (size_t)snprintf(id + used, UPLOAD_ID_BYTES - used, "%s%02x",
					 i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
					 bytes[i]);
}

static void put_series(struct body *body, const struct upload_window *window,
		       enum upload_profile profile, const struct upload_series *series)
{
	const struct body *bytes = &window->profiles[profile];
	char id[UPLOAD_ID_BYTES];

	body_printf(body, "{%s", series->labels_begin);
	put_labels(body, window, profile, series->service_key);
	body_printf(body, "%s,\"samples\":[{", series->labels_end);
	if (series->has_ids) {
		upload_put_id(id);
		body_printf(body, "\"ID\":\"%s\",", id);
	}
	body_puts(body, "\"rawProfile\":\"");
	body_put_base64(body, bytes->bytes, bytes->used);
	body_puts(body, "\"}]}");
}

void upload_put_series(struct body *body, const struct upload_window *window,
		       const struct upload_series *series)
{
	const char *separator = "";

	body_puts(body, "\"series\":[");
	for (int i = 0; i < UPLOAD_PROFILES; i++) {
		if (window->profiles[i].used == 0)
			continue;
		body_puts(body, separator);
		put_series(body, window, (enum upload_profile)i, series);
		separator = ",";
	}
	body_puts(body, "]");
}
