/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Datadog's intake: one message of several parts, of which the first says what the others are.
 */
#include "upload.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "format.h"
#include "visible.h"

enum { NS_PER_S = 1000000000, TIME_BYTES = 40, BOUNDARY_BYTES = 48 };

static void put_time(struct body *body, const char *key, uint64_t ns)
{
	char text[TIME_BYTES];
	time_t seconds = (time_t)(ns / NS_PER_S);
	struct tm parts;

	gmtime_r(&seconds, &parts);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &parts);
	body_printf(body, ",\"%s\":\"%s.%03uZ\"", key, text, (unsigned)(ns % NS_PER_S / 1000000));
}

/* Tags are separated by commas, which no value may have, nor a quote. */
static void put_tag(struct body *body, const char *key, const char *value)
{
	char plain[CONFIG_TAG_BYTES];
	const char *quoted;

	if (!value[0])
		return;
	snprintf(plain, sizeof(plain), "%s", value);
	for (char *at = plain; (at = strchr(at, ','));)
		*at = '_';
	body_printf(body, ",%s:", key);
	quoted = visible_json(plain);
	body_put(body, quoted + 1, strlen(quoted) - 2);
}

static void put_tags(struct body *body, const struct upload_window *window)
{
	const struct tags *tags = window->tags;

	body_puts(body, ",\"tags_profiler\":\"format:pprof,runtime:native,language:native");
	put_tag(body, "service", tags->service);
	put_tag(body, "version", tags->version);
	put_tag(body, "env", tags->environment);
	put_tag(body, "host", tags->host);
	put_tag(body, "runtime-id", tags->instance);
	body_printf(body, ",process_id:%d,profiler_version:" WCPROF_VERSION ",wcprof_duty:%g\"",
		    (int)tags->pid, (double)window->share_ppm / 1e6);
}

/* The first part: a description of the others. */
static void put_event(struct body *body, const struct upload_window *window)
{
	const char *separator = "";

	body_puts(body, "{\"attachments\":[");
	for (int i = 0; i < UPLOAD_PROFILES; i++) {
		if (window->profiles[i].used == 0)
			continue;
		body_printf(body, "%s\"%s\"", separator, upload_attachments[i]);
		separator = ",";
	}
	if (window->provenance.used > 0)
		body_printf(body, "%s\"code-provenance.json\"", separator);
	body_puts(body, "]");
	put_tags(body, window);
	put_time(body, "start", window->begin_ns);
	put_time(body, "end", window->end_ns);
	body_puts(body, ",\"family\":\"native\",\"version\":\"4\"}");
}

static void begin_part(struct body *body, const char *boundary, const char *name, const char *file,
		       const char *type)
{
	body_printf(body,
		    "--%s\r\nContent-Disposition: form-data; name=\"%s\"; filename=\"%s\"\r\n"
		    "Content-Type: %s\r\n\r\n",
		    boundary, name, file, type);
}

void upload_datadog(const struct upload_window *window, struct upload_request *request)
{
	struct body *body = &request->body;
	char boundary[BOUNDARY_BYTES], id[UPLOAD_ID_BYTES];

	upload_put_id(id);
	snprintf(boundary, sizeof(boundary), "wcprof-%s", id);
	snprintf(request->content_type, sizeof(request->content_type),
		 "multipart/form-data; boundary=%s", boundary);
	begin_part(body, boundary, "event", "event.json", "application/json");
	put_event(body, window);
	for (int i = 0; i < UPLOAD_PROFILES; i++) {
		const struct body *profile = &window->profiles[i];

		if (profile->used == 0)
			continue;
		body_puts(body, "\r\n");
		begin_part(body, boundary, upload_attachments[i], upload_attachments[i],
			   "application/octet-stream");
		body_put(body, profile->bytes, profile->used);
	}
	if (window->provenance.used > 0) {
		body_puts(body, "\r\n");
		begin_part(body, boundary, "code-provenance.json", "code-provenance.json",
			   "application/json");
		body_put(body, window->provenance.bytes, window->provenance.used);
	}
	body_printf(body, "\r\n--%s--\r\n", boundary);
}
