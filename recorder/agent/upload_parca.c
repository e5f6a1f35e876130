/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parca's profile store, in the JSON of its gateway: a series for each profile.
 */
#include "upload.h"

#include <stdio.h>

void upload_parca(const struct upload_window *window, struct upload_request *request)
{
	struct body *body = &request->body;
	const char *separator = "";

	snprintf(request->content_type, sizeof(request->content_type), "application/json");
	body_puts(body, "{\"series\":[");
	for (int i = 0; i < UPLOAD_PROFILES; i++) {
		const struct body *profile = &window->profiles[i];

		if (profile->used == 0)
			continue;
		body_printf(body, "%s{\"labels\":{", separator);
		upload_put_labels(body, window, (enum upload_profile)i, "job");
		body_puts(body, "},\"samples\":[{\"rawProfile\":\"");
		body_put_base64(body, profile->bytes, profile->used);
		body_puts(body, "\"}]}");
		separator = ",";
	}
	body_puts(body, "],\"normalized\":false}");
}
