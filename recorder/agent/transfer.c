/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transfers. See transfer.h.
 *
 * Of a failure, libcurl's name for it or the status is told, and no more. An answer's text, a
 * header or an address could have a secret in it.
 */
#include "transfer.h"

#include <ctype.h>
#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "body.h"
#include "format.h"

enum {
	URL_BYTES = 1024,
	HEADER_BYTES = 4200,
	SECRET_BYTES = 4096,
	ANSWER_BYTES = 4096,         /* of an answer that is kept */
	ANSWER_BYTES_MOST = 1048576, /* a receiver that goes on is hung up on */
	CONNECT_MS = 5000
};

struct transfer {
	struct outgoing *outgoing; /* NULL: this place is free */
	CURL *easy;
	struct curl_slist *headers;
	char answer[ANSWER_BYTES];
	size_t answer_used, answer_bytes;
};

struct transfers {
	CURLM *multi;
	struct transfer places[TRANSFER_MOST];
};

struct transfers *transfers_make(void)
{
	struct transfers *transfers = calloc(1, sizeof(*transfers));

	if (transfers && curl_global_init(CURL_GLOBAL_DEFAULT) == 0)
		transfers->multi = curl_multi_init();
	if (transfers && transfers->multi)
		return transfers;
	free(transfers);
	return NULL;
}

static void end(struct transfers *transfers, struct transfer *transfer)
{
	if (transfer->easy) {
		curl_multi_remove_handle(transfers->multi, transfer->easy);
		curl_easy_cleanup(transfer->easy);
	}
	curl_slist_free_all(transfer->headers);
	*transfer = (struct transfer){ 0 };
}

void transfers_free(struct transfers *transfers)
{
	for (int i = 0; i < TRANSFER_MOST; i++)
		end(transfers, &transfers->places[i]);
	curl_multi_cleanup(transfers->multi);
	curl_global_cleanup();
	free(transfers);
}

static struct transfer *free_place(struct transfers *transfers)
{
	for (int i = 0; i < TRANSFER_MOST; i++)
		if (!transfers->places[i].outgoing)
			return &transfers->places[i];
	return NULL;
}

bool transfers_have_room(const struct transfers *transfers)
{
	for (int i = 0; i < TRANSFER_MOST; i++)
		if (!transfers->places[i].outgoing)
			return true;
	return false;
}

/* --- A request -------------------------------------------------------------------------------- */

int transfer_read_secret(const char *path, char *to, size_t size)
{
	struct body text = { 0 };
	int result = body_put_file(&text, path, size);
	size_t length = 0;

	while (result == 0 && length < text.used && isgraph((unsigned char)text.bytes[length]))
		length++;
	if (result == 0 && (length == 0 || length >= size ||
			    (length < text.used && !strchr("\r\n", text.bytes[length]))))
		result = -EINVAL;
	if (result == 0)
		memcpy(to, text.bytes, length);
	to[result == 0 ? length : 0] = '\0';
	if (text.bytes)
		explicit_bzero(text.bytes, text.used);
	body_free(&text);
	return result;
}

static int add_header(struct transfer *transfer, const char *name, const char *value)
{
	char header[HEADER_BYTES];
	struct curl_slist *longer;

	snprintf(header, sizeof(header), "%s: %s", name, value);
	longer = curl_slist_append(transfer->headers, header);
	explicit_bzero(header, sizeof(header));
	if (!longer)
		return -ENOMEM;
	transfer->headers = longer;
	return 0;
}

static int add_secret(struct transfer *transfer, const char *path, const char *name,
		      const char *begin)
{
	char value[SECRET_BYTES + 16];
	size_t used = (size_t)snprintf(value, sizeof(value), "%s", begin);
	int result;

	if (!path[0])
		return 0;
	result = transfer_read_secret(path, value + used, SECRET_BYTES);
	if (result == 0)
		result = add_header(transfer, name, value);
	explicit_bzero(value, sizeof(value));
	return result;
}

static int add_headers(struct transfer *transfer)
{
	const struct config_upload *receiver = &transfer->outgoing->receiver;
	int result = add_header(transfer, "Content-Type", transfer->outgoing->request.content_type);

	/* No question first whether the body may come. */
	if (result == 0)
		result = add_header(transfer, "Expect", "");
	if (result == 0 && receiver->tenant[0])
		result = add_header(transfer, "X-Scope-OrgID", receiver->tenant);
	if (result == 0 && receiver->to == CONFIG_datadog)
		result = add_header(transfer, "DD-EVP-ORIGIN", "wcprof");
	if (result == 0 && receiver->to == CONFIG_datadog)
		result = add_header(transfer, "DD-EVP-ORIGIN-VERSION", WCPROF_VERSION);
	if (result == 0)
		result = add_secret(transfer, receiver->token_file, "Authorization", "Bearer ");
	if (result == 0)
		result = add_secret(transfer, receiver->api_key_file, "DD-API-KEY", "");
	return result;
}

static size_t take_answer(char *bytes, size_t size, size_t count, void *context)
{
	struct transfer *transfer = context;
	size_t room = sizeof(transfer->answer) - transfer->answer_used;
	size_t kept = count < room ? count : room;

	(void)size;
	memcpy(transfer->answer + transfer->answer_used, bytes, kept);
	transfer->answer_used += kept;
	transfer->answer_bytes += count;
	return transfer->answer_bytes <= ANSWER_BYTES_MOST ? count : 0;
}

static void set_security(CURL *easy, const struct config_upload *receiver)
{
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, receiver->insecure ? 0L : 1L);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, receiver->insecure ? 0L : 2L);
	curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	if (receiver->ca_file[0])
		curl_easy_setopt(easy, CURLOPT_CAINFO, receiver->ca_file);
}

static void set_request(struct transfer *transfer)
{
	const struct outgoing *outgoing = transfer->outgoing;
	const struct config_upload *receiver = &outgoing->receiver;
	char url[URL_BYTES];
	size_t length = strlen(receiver->url);

	while (length > 0 && receiver->url[length - 1] == '/')
		length--;
	snprintf(url, sizeof(url), "%.*s%s", (int)length, receiver->url, upload_path(receiver->to));
	curl_easy_setopt(transfer->easy, CURLOPT_URL, url);
	if (receiver->socket[0])
		curl_easy_setopt(transfer->easy, CURLOPT_UNIX_SOCKET_PATH, receiver->socket);
	curl_easy_setopt(transfer->easy, CURLOPT_POST, 1L);
	curl_easy_setopt(transfer->easy, CURLOPT_POSTFIELDS, outgoing->request.body.bytes);
	curl_easy_setopt(transfer->easy, CURLOPT_POSTFIELDSIZE_LARGE,
			 (curl_off_t)outgoing->request.body.used);
	curl_easy_setopt(transfer->easy, CURLOPT_HTTPHEADER, transfer->headers);
	curl_easy_setopt(transfer->easy, CURLOPT_USERAGENT, "wcprof-agent/" WCPROF_VERSION);
	curl_easy_setopt(transfer->easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(transfer->easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
	curl_easy_setopt(transfer->easy, CURLOPT_TIMEOUT, (long)receiver->timeout_s);
	curl_easy_setopt(transfer->easy, CURLOPT_WRITEFUNCTION, take_answer);
	curl_easy_setopt(transfer->easy, CURLOPT_WRITEDATA, transfer);
	curl_easy_setopt(transfer->easy, CURLOPT_PRIVATE, transfer);
	set_security(transfer->easy, receiver);
}

bool transfers_begin(struct transfers *transfers, struct outgoing *outgoing,
		     struct transfer_result *result)
{
	struct transfer *transfer = free_place(transfers);
	int error;

	*result = (struct transfer_result){ .outgoing = outgoing, .verdict = OUTBOX_LATER };
	transfer->outgoing = outgoing;
	error = add_headers(transfer);
	transfer->easy = error == 0 ? curl_easy_init() : NULL;
	if (transfer->easy) {
		set_request(transfer);
		if (curl_multi_add_handle(transfers->multi, transfer->easy) == CURLM_OK)
			return true;
	}
	snprintf(result->why, sizeof(result->why), "%s",
		 error != 0 ? error == -EINVAL ? "a file with a secret has not one word in it"
					       : strerror(-error)
			    : "no memory");
	end(transfers, transfer);
	return false;
}

/* --- Their ends ------------------------------------------------------------------------------- */

void transfers_wait(struct transfers *transfers, struct pollfd *polls, size_t count, int timeout_ms)
{
	struct curl_waitfd waits[TRANSFER_POLLS_MOST];
	int running;

	for (size_t i = 0; i < count; i++)
		waits[i] = (struct curl_waitfd){
			polls[i].fd,
			(short)((polls[i].events & POLLIN ? CURL_WAIT_POLLIN : 0) |
				(polls[i].events & POLLOUT ? CURL_WAIT_POLLOUT : 0)),
			0
		};
	(void)curl_multi_perform(transfers->multi, &running);
	(void)curl_multi_poll(transfers->multi, waits, (unsigned)count, timeout_ms, NULL);
	(void)curl_multi_perform(transfers->multi, &running);
	for (size_t i = 0; i < count; i++)
		polls[i].revents = waits[i].revents;
}

static void judge(struct transfer *transfer, CURLcode code, struct transfer_result *result)
{
	enum config_protocol protocol = transfer->outgoing->receiver.to;
	curl_off_t retry_after_s = 0;
	long status = 0;

	if (code == CURLE_OK) {
		curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
		curl_easy_getinfo(transfer->easy, CURLINFO_RETRY_AFTER, &retry_after_s);
	}
	result->outgoing = transfer->outgoing;
	result->verdict = outbox_judge((int)status);
	result->retry_after_s =
		retry_after_s > 0 && retry_after_s < 86400 ? (unsigned)retry_after_s : 0;
	if (result->verdict == OUTBOX_TAKEN &&
	    !upload_was_taken(protocol, transfer->answer, transfer->answer_used)) {
		result->verdict = OUTBOX_REFUSED;
		snprintf(result->why, sizeof(result->why),
			 "the receiver took none or not all of it");
	} else if (code != CURLE_OK) {
		snprintf(result->why, sizeof(result->why), "%s", curl_easy_strerror(code));
	} else {
		snprintf(result->why, sizeof(result->why), "the receiver answers with status %ld",
			 status);
	}
}

bool transfers_next(struct transfers *transfers, struct transfer_result *result)
{
	CURLMsg *message;
	int left;

	*result = (struct transfer_result){ 0 };
	do
		message = curl_multi_info_read(transfers->multi, &left);
	while (message && message->msg != CURLMSG_DONE);
	if (!message)
		return false;
	for (int i = 0; i < TRANSFER_MOST; i++) {
		struct transfer *transfer = &transfers->places[i];

		if (transfer->easy != message->easy_handle)
			continue;
		judge(transfer, message->data.result, result);
		end(transfers, transfer);
		return true;
	}
	return false;
}
