/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers in which several requests may be at once: TLS, and the frames of HTTP/2. See peek.h.
 *
 * Both say how long each piece is, and of which type. Of what is in it nothing is read.
 */
#include "peek.h"

#include "in_target.h"

#define LAYER(name, word, meaning) static const char name[] = (word);
#include "layers.def"
#undef LAYER

/* --- TLS: records of a type, a version, a length, the body --- */

enum {
	TLS_CIPHERS = 20, /* from the next record on, all are encrypted */
	TLS_ALERT = 21,
	TLS_HANDSHAKE = 22,
	TLS_DATA = 23,
	TLS_HEADER_BYTES = 5,
	TLS_MAJOR = 3,
	TLS_MINOR_MAX = 4,
	TLS_HANDSHAKE_BYTES_LEAST = 4,
	TLS_BYTES_MAX = (1 << 14) + 2048
};

/* Of a record whose header is there, all bytes; 0: it is none. */
static size_t tls_record_bytes(const uint8_t *header)
{
	size_t bytes = (size_t)header[3] << 8 | header[4];
	size_t least = header[0] == TLS_HANDSHAKE ? TLS_HANDSHAKE_BYTES_LEAST : 1;

	if (header[0] < TLS_CIPHERS || header[0] > TLS_DATA || header[1] != TLS_MAJOR ||
	    header[2] > TLS_MINOR_MAX || bytes < least || bytes > TLS_BYTES_MAX)
		return 0;
	return TLS_HEADER_BYTES + bytes;
}

/* From a handshake's record on: whether a request follows in the same read. After the change of
 * ciphers one record is of the handshake, and its type may be hidden. */
static bool has_data(const struct peeked *read)
{
	bool is_changed = false;

	for (size_t at = 0; read->count >= at + TLS_HEADER_BYTES;) {
		const uint8_t *header = read->bytes + at;
		size_t bytes = tls_record_bytes(header);

		if (bytes == 0)
			return false;
		at += bytes;
		if (is_changed && header[0] >= TLS_HANDSHAKE)
			return read->amount > at;
		is_changed |= header[0] == TLS_CIPHERS;
	}
	return false;
}

enum peek_result peek_tls(const struct peeked *read, struct text *to)
{
	if (read->bytes[0] < TLS_CIPHERS || read->bytes[0] > TLS_DATA)
		return PEEK_UNKNOWN;
	if (read->count > 1 && read->bytes[1] != TLS_MAJOR)
		return PEEK_UNKNOWN;
	if (read->count < TLS_HEADER_BYTES)
		return PEEK_MORE;
	if (tls_record_bytes(read->bytes) == 0)
		return PEEK_UNKNOWN;
	text_put(to,
		 read->bytes[0] == TLS_DATA || has_data(read) ? REQUEST_TLS : REQUEST_TLS_CONTROL);
	return PEEK_KNOWN;
}

/* --- HTTP/2: frames of a length, a type, flags, the number of a stream, the body --- */

enum {
	FRAME_HEADER_BYTES = 9,
	FRAME_BYTES_MAX = 1 << 14,
	SETTING_BYTES = 6,
	/* flags of headers: end of stream, end of headers, padded, with a priority */
	HEADERS_FLAGS = 0x01 | 0x04 | 0x08 | 0x20
};

enum frame_type {
	FRAME_HEADERS = 1,
	FRAME_RESET = 3,
	FRAME_SETTINGS = 4,
	FRAME_PING = 6,
	FRAME_WINDOW = 8
};

/* Only frames that can be told from MySQL's packets, which begin alike: not a stream's data. */
static bool is_frame(const uint8_t *header)
{
	uint32_t bytes = (uint32_t)header[0] << 16 | (uint32_t)header[1] << 8 | header[2];
	uint32_t stream = (uint32_t)header[5] << 24 | (uint32_t)header[6] << 16 |
			  (uint32_t)header[7] << 8 | header[8];
	bool is_clients = stream % 2 == 1 && stream >> 31 == 0;

	switch (header[3]) {
	case FRAME_HEADERS:
		return is_clients && bytes > 0 && bytes <= FRAME_BYTES_MAX &&
		       (header[4] & ~HEADERS_FLAGS) == 0;
	case FRAME_RESET:
		return is_clients && bytes == 4 && header[4] == 0;
	case FRAME_SETTINGS:
		return stream == 0 && bytes % SETTING_BYTES == 0 && header[4] <= 1;
	case FRAME_PING:
		return stream == 0 && bytes == 8 && header[4] <= 1;
	case FRAME_WINDOW:
		return (stream == 0 || is_clients) && bytes == 4 && header[4] == 0;
	default:
		return false;
	}
}

enum peek_result peek_http2(const struct peeked *read, struct text *to)
{
	enum peek_result found = peek_begins(read, "PRI * HTTP/2.0");

	if (found == PEEK_UNKNOWN && read->bytes[0] == 0)
		found = read->count < FRAME_HEADER_BYTES ? PEEK_MORE
			: is_frame(read->bytes)          ? PEEK_KNOWN
							 : PEEK_UNKNOWN;
	if (found == PEEK_KNOWN)
		text_put(to, REQUEST_HTTP2);
	return found;
}
