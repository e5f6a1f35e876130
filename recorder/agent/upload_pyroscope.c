/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pyroscope's push API, in JSON: a series for each profile.
 */
#include "upload.h"

#include <stdio.h>

void upload_pyroscope(const struct upload_window *window, struct upload_request *request)
{
	struct body *body = &request->body;
	const char *separator = "";

	snprintf(request->content_type, sizeof(request->content_type), "application/json");
	body_puts(body, "{\"series\":[");
	for (int i = 0; i < UPLOAD_PROFILES; i++) {
		const struct body *profile = &window->profiles[i];
		char id[UPLOAD_ID_BYTES];

		if (profile->used == 0)
			continue;
		upload_put_id(id);
		body_printf(body, "%s{", separator);
		upload_put_labels(body, window, (enum upload_profile)i, "service_name");
		body_printf(body, ",\"samples\":[{\"ID\":\"%s\",\"rawProfile\":\"", id);
		body_put_base64(body, profile->bytes, profile->used);
		body_puts(body, "\"}]}");
		separator = ",";
	}
	body_puts(body, "]}");
}
