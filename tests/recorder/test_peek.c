/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a request has a wrong name, or something of a client's gets into a dump. */
#include "peek.h"

#include "recording.h"
#include "roster.h"
#include "suite.h"

#include <sys/uio.h>

static char folded[PEEK_TEXT_BYTES + 1];
static uint64_t folded_bytes; /* how long the first request says that it is */

/* The template of a read; "?": nothing is known, "+": more bytes are wanted. The copy of the bytes
 * has no byte more, for the sanitizer. */
static const char *fold_of(const void *bytes, size_t count, uint64_t amount)
{
	uint8_t *copy = malloc(count ? count : 1);
	struct text text = { .bytes = folded, .size = PEEK_TEXT_BYTES };
	enum peek_result result;

	memcpy(copy, bytes, count);
	result = peek_fold(&(struct peeked){ copy, count, amount }, &text, &folded_bytes);
	free(copy);
	folded[text.used] = '\0';
	return result == PEEK_KNOWN ? folded : result == PEEK_MORE ? "+" : "?";
}

#define BYTES(literal) literal, sizeof(literal) - 1

static const struct {
	const char *bytes;
	size_t count;
	const char *template;
} rows[] = {
	/*  0 */ { BYTES("GET / HTTP/1.1\r\n"), "GET /" },
	/*  1 */ { BYTES("GET /users/17/posts HTTP/1.1\r\n"), "GET /users/*/posts" },
	/*  2 */ { BYTES("POST /login?user=ann&password=hunter HTTP/1.1\r\n"), "POST /login" },
	/*  3 */
	{ BYTES("GET /o/550e8400-e29b-41d4-a716-446655440000/x HTTP/1.1"), "GET /o/*/x" },
	/*  4 */ { BYTES("GET /b/deadbeefcafe/x HTTP/1.1\r\n"), "GET /b/*/x" },
	/*  5 */
	{ BYTES("GET /api/v1/a-b_c/index.html HTTP/1.1\r\n"), "GET /api/v1/a-b_c/index.html" },
	/*  6 */ { BYTES("GET /s/jquery-3.6.0.min.js?v=2 HTTP/1.1\r\n"), "GET /s/*.js" },
	/*  7 */ { BYTES("GET /user"), "GET /..." },
	/*  8 */ { BYTES("GET /users/"), "GET /users/..." },
	/*  9 */ { BYTES("GET /users/ HTTP/1.1\r\n"), "GET /users/" },
	/* 10 */ { BYTES("GET /a/%6eame;jsessionid=abc HTTP/1.1\r\n"), "GET /a/*" },
	/* 11 */ { BYTES("GET /a/na\xc3\xafve/\"q\"/\x01z/ HTTP/1.1\r\n"), "GET /a/*/*/" },
	/* 12 */ { BYTES("GET http://ann:hunter@host/x HTTP/1.1\r\n"), "GET *" },
	/* 13 */ { BYTES("CONNECT example.org:443 HTTP/1.1\r\n"), "CONNECT *" },
	/* 14 */ { BYTES("OPTIONS * HTTP/1.1\r\n"), "OPTIONS *" },
	/* 15 */ { BYTES("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), "HTTP/2" },
	/* 16 */ { BYTES("GET key\r\n"), "?" },
	/* 17 */ { BYTES("GE"), "+" },
	/* 18 */ { BYTES("GET "), "+" },
	/* 19 */ { BYTES("GET /x/averyveryverylongwordthatisnone/y HTTP/1.1"), "GET /x/*/y" },
	/* 20 */ { BYTES("get /x HTTP/1.1\r\n"), "get" }, /* memcached's */
	/* 21 */ { BYTES("*3\r\n$3\r\nset\r\n$6\r\nsecret\r\n$1\r\nx\r\n"), "SET" },
	/* 22 */ { BYTES("*2\r\n$4\r\nAUTH\r\n$6\r\nhunter\r\n"), "AUTH" },
	/* 23 */ { BYTES("*1\r\n$11\r\njson.objlen\r\n"), "JSON.OBJLEN" },
	/* 24 */ { BYTES("*1\r\n$6\r\nsecr3t\r\n"), "?" },
	/* 25 */ { BYTES("*1\r\n$4\r\nPI"), "+" },
	/* 26 */ { BYTES("*1\r\n$400\r\nPI"), "?" },
	/* 27 */ { BYTES("*12345678901234567890\r\n$4\r\nPING\r\n"), "?" },
	/* 28 */ { BYTES("PING\r\n"), "PING" },
	/* 29 */ { BYTES("*2"), "+" },
	/* 30 */ { BYTES("get secret\r\n"), "get" },
	/* 31 */ { BYTES("gets a b c\r\n"), "gets" },
	/* 32 */ { BYTES("flush_all\r\n"), "flush_all" },
	/* 33 */ { BYTES("getting on\r\n"), "?" },
	/* 34 */
	{ BYTES("\x80\x00\x00\x06\x00\x00\x00\x00\x00\x00\x00\x06"
		"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
		"secret"),
	  "get" },
	/* 35 */
	{ BYTES("\x80\x21\x00\x05\x00\x00\x00\x00\x00\x00\x00\x06"
		"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
		"PLAIN\x00"),
	  "sasl_auth" },
	/* 36 */
	{ BYTES("\x80\x77\x00\x05\x00\x00\x00\x00\x00\x00\x00\x06"
		"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"),
	  "?" },
	/* 37 */
	{ BYTES("Q\x00\x00\x00\x29SELECT a, 'b' FROM accounts WHERE c=1\x00"),
	  "SELECT ... FROM accounts" },
	/* 38 */
	{ BYTES("Q\x00\x00\x00\x0b"
		"BEGIN;\x00"),
	  "BEGIN" },
	/* 39 */ { BYTES("Q\x00\x00\x01\x29SELECT a FROM accou"), "SELECT ... FROM accou..." },
	/* 40 */
	{ BYTES("P\x00\x00\x00\x28\x00UPDATE accounts SET a=$1 WHERE b=$2\x00\x00\x00"),
	  "UPDATE accounts" },
	/* 41 */
	{ BYTES("P\x00\x00\x00\x2cP_0\x00"
		"DELETE FROM accounts WHERE b=$1\x00\x00\x00"),
	  "PREPARE DELETE FROM accounts" },
	/* 42 */
	{ BYTES("B\x00\x00\x00\x20\x00P_0_1\x00\x00\x00\x00\x01\x00\x00\x00\x06secret"),
	  "EXECUTE P_0_1" },
	/* 43 */
	{ BYTES("B\x00\x00\x00\x20\x00\x00\x00\x00\x00\x01\x00\x00\x00\x06secret"), "EXECUTE" },
	/* 44 */ { BYTES("B\x00\x00\x00\x20\x00my name\x00\x00\x00\x00\x01"), "EXECUTE *" },
	/* 45 */ { BYTES("p\x00\x00\x00\x0bhunter\x00"), "password" },
	/* 46 */ { BYTES("X\x00\x00\x00\x04"), "terminate" },
	/* 47 */
	{ BYTES("\x00\x00\x00\x15\x00\x03\x00\x00user\x00"
		"hunter\x00\x00"),
	  "startup" },
	/* 48 */ { BYTES("\x00\x00\x00\x08\x04\xd2\x16\x2f"), "SSL request" },
	/* 49 */ { BYTES("Q\x00\x00\x00\x10hello wor\x00"), "?" },
	/* 50 */ { BYTES("\x10\x00\x00\x00\x03SELECT 'secret'"), "SELECT ..." },
	/* 51 */ { BYTES("\x12\x00\x00\x00\x03\x00\x01SELECT 'secret'"), "SELECT ..." },
	/* 52 */ { BYTES("\x01\x00\x00\x00\x0e"), "COM_PING" },
	/* 53 */ { BYTES("\x01\x00\x00\x00\x01"), "COM_QUIT" },
	/* 54 */
	{ BYTES("\x1a\x00\x00\x00\x16SELECT a FROM `t` WHERE b"), "PREPARE SELECT ... FROM t" },
	/* 55 */
	{ BYTES("\x0a\x00\x00\x00\x17\x01\x00\x00\x00\x00\x01\x00\x00\x00"), "COM_STMT_EXECUTE" },
	/* 56 */ { BYTES("\x01\x00\x00\x00"), "+" },
	/* 57 */ { BYTES("\x01\x00\x00\x00\x0eGET"), "?" },
	/* 58 */
	{ BYTES("\x55\x00\x00\x01\x0d\xa2\x0f\x00\x00\x00\x00\x01\x21"
		"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
		"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
		"ann\x00\x14hunter"),
	  "login" },
	/* 59 */ { BYTES("\x05\x00\x00\x00\x02hunt"), "COM_INIT_DB" },
	/* 60 */
	{ BYTES("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03hunter"), "TLS handshake" },
	/* 61 */ { BYTES("SSH-2.0-OpenSSH_9.2\r\n"), "?" },
	/* 62 */ { BYTES("EHLO example.org\r\n"), "?" },
	/* 63 */ { BYTES("\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"), "?" },
	/* 64 */ { BYTES("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), "?" },
	/* 65 */ { BYTES("P"), "+" },
	/* 66 */ { BYTES("\x17\x03\x03\x00\x06hunter"), "TLS" },
	/* 67 */ { BYTES("\x15\x03\x03\x00\x02\x01\x00"), "TLS handshake" }, /* an alert */
	/* 68: the last of the handshake */
	{ BYTES("\x14\x03\x03\x00\x01\x01\x17\x03\x03\x00\x06hunter"), "TLS handshake" },
	/* 69: and a request */
	{ BYTES("\x14\x03\x03\x00\x01\x01\x16\x03\x03\x00\x06hunter\x17\x03\x03"), "TLS" },
	/* 70 */ { BYTES("\x17\x03\x05\x00\x06hunter"), "?" },
	/* 71 */ { BYTES("\x17\x02\x03\x00\x06hunter"), "?" },
	/* 72 */ { BYTES("\x17\x03\x03\xff"), "+" },
	/* 73 */ { BYTES("\x17\x03\x03\xff\xff"), "?" },
	/* 74 */ { BYTES("\x16\x03\x03\x00\x03SELECT 'secret'"), "SELECT ..." },
	/* 75 */ { BYTES("\x00\x00\x06\x01\x05\x00\x00\x00\x03hunter"), "HTTP/2" },
	/* 76: from a server */ { BYTES("\x00\x00\x06\x01\x05\x00\x00\x00\x02hunter"), "+" },
	/* 77 */ { BYTES("\x00\x00\x06\x00\x00\x00\x00\x00\x03hunter"), "?" }, /* data */
	/* 78 */ { BYTES("\x00\x00\x04\x08\x00\x00\x00\x00\x00\x00\x01\x00\x00"), "HTTP/2" },
	/* 79 */ { BYTES("\x00\x00\x00\x04\x01\x00\x00\x00\x00"), "HTTP/2" },
	/* 80 */ { BYTES("\x00\x00\x08\x06\x00\x00\x00\x00\x00hunter"), "HTTP/2" },
	/* 81 */ { BYTES("\x00\x00\x04\x03\x00\x00\x00\x00\x05"), "HTTP/2" },
	/* 82 */ { BYTES("PRI * HTTP/2."), "+" },
};

START_TEST(a_request_has_a_kind)
{
	ck_assert_str_eq(fold_of(rows[_i].bytes, rows[_i].count, rows[_i].count),
			 rows[_i].template);
}
END_TEST

/* Whatever there is of it: nothing beyond is read, and what is put is some beginning. */
START_TEST(a_request_may_be_cut_anywhere)
{
	for (size_t count = 1; count <= rows[_i].count; count++) {
		const char *kind = fold_of(rows[_i].bytes, count, rows[_i].count + 1);

		ck_assert_msg(!strstr(kind, "hunter") && !strstr(kind, "secret"), "%zu: %s", count,
			      kind);
	}
}
END_TEST

static const struct {
	const char *bytes;
	size_t count;
	uint64_t first;
} lengths[] = {
	/*  0 */ { BYTES("*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nPING\r\n"), 14 },
	/*  1: the last string goes on beyond */
	{ BYTES("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1000\r\nabc"), 20 + 7 + 1000 + 2 },
	/*  2 */ { BYTES("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$10"), 0 },
	/*  3 */ { BYTES("*3\r\n$3\r\nSET\r\n$1\r\nk\r\nhunter"), 0 },
	/*  4 */ { BYTES("*0\r\n*1\r\n"), 0 },
	/*  5 */ { BYTES("*2\r\n$3\r\nGET\r\n$9999999\r\nk"), 4 + 9 + 10 + 9999999 + 2 },
	/*  6 */ { BYTES("get a\r\nget b\r\n"), 7 },
	/*  7 */ { BYTES("get a"), 0 },
	/*  8 */ { BYTES("set a 0 0 1\r\nx\r\n"), 0 },
	/*  9 */
	{ BYTES("\x80\x00\x00\x06\x00\x00\x00\x00\x00\x00\x00\x06"
		"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
		"secret\x80"),
	  30 },
	/* 10 */ { BYTES("GET / HTTP/1.1\r\n"), 0 },
	/* 11: MySQL's, whose first byte is its length: an `a`, and a `*` */
	{ BYTES("a\x00\x00\x00\x03SELECT name\nFROM users\nWHERE name = 'hunter'"), 0 },
	/* 12 */ { BYTES("*\x00\x00\x00\x03SELECT name\r\nFROM users\r\n$1\r\n"), 0 },
};

START_TEST(a_request_says_how_long_it_is)
{
	for (size_t count = 1; count <= lengths[_i].count; count++)
		(void)fold_of(lengths[_i].bytes, count, lengths[_i].count);
	ck_assert_uint_eq(folded_bytes, lengths[_i].first);
}
END_TEST

static const struct {
	const char *statement;
	const char *template; /* NULL: it is none */
} statements[] = {
	/*  0 */ { "select * from t", "SELECT ... FROM t" },
	/*  1 */ { "SELECT 'x FROM secret' FROM t", "SELECT ... FROM t" },
	/*  2 */ { "SELECT 'it''s FROM secret' FROM t", "SELECT ... FROM t" },
	/*  3 */ { "SELECT 'a\\' FROM secret --' FROM t", "SELECT ..." },
	/*  4 */ { "SELECT $$ FROM secret $$ FROM t", "SELECT ..." },
	/*  5 */ { "SELECT $1 FROM t", "SELECT ... FROM t" },
	/*  6 */ { "SELECT \"a FROM secret\" FROM \"My\"", "SELECT ... FROM My" },
	/*  7 */ { "SELECT /* FROM secret */ 1 -- FROM secret\n FROM t", "SELECT ... FROM t" },
	/*  8 */ { "SELECT /* /* FROM secret */ */ FROM t", "SELECT ..." },
	/*  9 */ { "SELECT 1 # FROM secret\n FROM t", "SELECT ..." },
	/* 10 */ { "SELECT extract(year FROM secret) FROM s.t", "SELECT ... FROM s.t" },
	/* 11 */ { "SELECT a FROM (SELECT b FROM secret) c", "SELECT ... FROM (...)" },
	/* 12 */ { "SELECT 1", "SELECT ..." },
	/* 13 */ { "DELETE FROM ONLY t WHERE a=1", "DELETE FROM t" },
	/* 14 */ { "INSERT INTO t (a) VALUES ('secret')", "INSERT INTO t" },
	/* 15 */ { "INSERT LOW_PRIORITY IGNORE INTO t VALUES (1)", "INSERT INTO t" },
	/* 16 */ { "UPDATE t SET a='secret'", "UPDATE t" },
	/* 17 */ { "ALTER USER ann IDENTIFIED BY 'secret'", "ALTER USER" },
	/* 18 */ { "CREATE TEMP TABLE IF NOT EXISTS t (a int)", "CREATE TABLE t" },
	/* 19 */ { "CREATE UNIQUE INDEX secret ON t (a)", "CREATE INDEX" },
	/* 20 */ { "SET PASSWORD = 'secret'", "SET" },
	/* 21 */ { "  \n/* hello */ COMMIT", "COMMIT" },
	/* 22 */ { "WITH x AS (SELECT 1 FROM y) SELECT * FROM x", "WITH ... FROM x" },
	/* 23 */ { "SELECT * FROM t\xc3\xa4glich", "SELECT ... FROM *" },
	/* 24 */ { "SELECT * FROM `a b`", "SELECT ... FROM *" },
	/* 25 */ { "(SELECT a FROM t) UNION (SELECT b FROM u)", "SELECT ... FROM t" },
	/* 26 */ { "SELECT 5--'a\n FROM secret '", "SELECT ..." },
	/* 27 */ { "SELECT /*! 'a */ FROM secret '", "SELECT ..." },
	/* 28 */ { "CALL work('secret')", "CALL work" },
	/* 29 */ { "secret", NULL },
	/* 30 */ { "", NULL },
	/* 31 */ { "'SELECT'", NULL },
	/* 32 */ { "SELECTED secret", NULL },
	/* 33 */ { "SELECT * FROM 'secret'", "SELECT ... FROM" },
	/* 34 */ { "TRUNCATE TABLE t", "TRUNCATE t" },
};

START_TEST(a_statement_is_told_by_its_table)
{
	const char *statement = statements[_i].statement;
	size_t bytes = strlen(statement);
	struct text text = { .bytes = folded, .size = PEEK_TEXT_BYTES };
	uint8_t *copy = malloc(bytes ? bytes : 1);
	bool is_one;

	memcpy(copy, statement, bytes);
	is_one = peek_sql(copy, bytes, true, &text);
	free(copy);
	folded[text.used] = '\0';
	ck_assert_int_eq(is_one, statements[_i].template != NULL);
	if (is_one)
		ck_assert_str_eq(folded, statements[_i].template);
}
END_TEST

/* --- What becomes of a read --- */

static struct self *self;

static void setup(void)
{
	recording_begin();
	store_relaxed(&recorder_peek, 32);
}

static uint64_t begin(int fd, uint8_t flags)
{
	uint64_t op;

	self = self_enter();
	op = op_begin(self, KIND_IO, CALL_READ, 0, fd, 0, __builtin_frame_address(0));
	op_set_flags(self, op, flags);
	return op;
}

static void read_parts(int fd, uint8_t flags, const struct iovec *parts, size_t count,
		       uint64_t bytes)
{
	uint64_t op = begin(fd, flags);

	op_set_request(self, op, parts, count, bytes);
	op_end(self, op, OUTCOME_OK, bytes);
	self_leave(self);
}

static void read_text(int fd, uint8_t flags, const char *text)
{
	struct iovec part = { (void *)(uintptr_t)text, strlen(text) };

	read_parts(fd, flags, &part, 1, part.iov_len);
}

static json_t *read_of(json_t *lines, size_t number)
{
	for (size_t i = 1; i < json_array_size(lines); i++) {
		json_t *event = json_array_get(lines, i);

		if (strcmp(word_of(event, "k"), "io") == 0 && number-- == 0)
			return event;
	}
	return NULL;
}

/* Of the read of this number; "" = none. */
static const char *kind_of(size_t number)
{
	json_t *lines = recording_dump(false), *event = read_of(lines, number);

	if (!event)
		return "no such read";
	return json_object_get(event, "rk") ? name_of(lines, event, "rk") : "";
}

/* Of its first request; 0 = it has one alone. */
static json_int_t bytes_of(size_t number)
{
	return json_integer_value(json_object_get(read_of(recording_dump(false), number), "rb"));
}

START_TEST(a_servers_read_has_the_kind)
{
	read_text(3, RECORD_ACCEPTED, "GET /a HTTP/1.1\r\n");
	read_text(3, 0, "GET /b HTTP/1.1\r\n");
	read_text(3, RECORD_ACCEPTED, "hello");
	ck_assert_str_eq(kind_of(0), "GET /a");
	ck_assert_str_eq(kind_of(1), "");
	ck_assert_str_eq(kind_of(2), "");
	ck_assert_uint_eq(roster_counter(recorder_arena, COUNTER_unknown_requests), 1);
}
END_TEST

/* The buffer is larger than what was read, and full of what was there before. */
START_TEST(no_more_is_looked_at_than_was_read)
{
	char old[] = "GET /old/path HTTP/1.1\r\n";
	struct iovec parts[] = {
		{ old, 3 }, { NULL, 0 }, { old + 3, sizeof(old) - 4 }, { NULL, 7 }
	};

	read_parts(3, RECORD_ACCEPTED, parts, 4, 7);
	read_parts(4, RECORD_ACCEPTED, parts, 4, sizeof(old) - 1);
	ck_assert_str_eq(kind_of(0), "GET /...");
	ck_assert_str_eq(kind_of(1), "GET /old/path");
}
END_TEST

START_TEST(no_more_is_looked_at_than_was_asked_for)
{
	store_relaxed(&recorder_peek, 8);
	read_text(3, RECORD_ACCEPTED, "GET /a/bcdef HTTP/1.1\r\n");
	store_relaxed(&recorder_peek, 0);
	read_text(3, RECORD_ACCEPTED, "GET /a HTTP/1.1\r\n");
	ck_assert_str_eq(kind_of(0), "GET /a/...");
	ck_assert_str_eq(kind_of(1), "");
}
END_TEST

/* As MySQL's server reads: the header, and then the body. */
START_TEST(a_request_comes_in_parts)
{
	char packet[] = { 1, 0, 0, 0, 14 };
	struct iovec header = { packet, 4 }, body = { packet + 4, 1 };

	read_parts(3, RECORD_ACCEPTED, &header, 1, 4);
	read_parts(3, RECORD_ACCEPTED, &body, 1, 1);
	read_parts(3, RECORD_ACCEPTED, &header, 1, 4);
	read_parts(4, RECORD_ACCEPTED, &body, 1, 1);
	ck_assert_str_eq(kind_of(0), "");
	ck_assert_str_eq(kind_of(1), "COM_PING");
	ck_assert_str_eq(kind_of(2), "");
	ck_assert_str_eq(kind_of(3), "");
}
END_TEST

START_TEST(a_read_may_have_several)
{
	store_relaxed(&recorder_peek, 64);
	read_text(3, RECORD_ACCEPTED, "*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nPING\r\n");
	read_text(3, RECORD_ACCEPTED, "*1\r\n$4\r\nPING\r\n");
	ck_assert_str_eq(kind_of(0), "PING");
	ck_assert_str_eq(kind_of(1), "PING");
	ck_assert_int_eq(bytes_of(0), 14);
	ck_assert_int_eq(bytes_of(1), 0);
}
END_TEST

/* A word for each of so many kinds. */
static void put_kind(struct text *text, uint32_t number)
{
	text->used = 0;
	text_put_literal(text, "GET /");
	text_put_u64(text, number);
}

START_TEST(there_are_so_many_kinds)
{
	char bytes[PEEK_TEXT_BYTES];
	struct text text = { .bytes = bytes, .size = sizeof(bytes) };
	uint32_t first, other, length;

	put_kind(&text, 0);
	first = peek_intern(&text);
	for (uint32_t i = 1; i < PEEK_KINDS_MAX; i++) {
		put_kind(&text, i);
		ck_assert_uint_ne(peek_intern(&text), first);
	}
	put_kind(&text, PEEK_KINDS_MAX);
	other = peek_intern(&text);
	ck_assert_str_eq(strings_get(recorder_arena, other, &length), "other");
	put_kind(&text, 0);
	ck_assert_uint_eq(peek_intern(&text), first);
	peek_forget();
	put_kind(&text, PEEK_KINDS_MAX);
	ck_assert_uint_ne(peek_intern(&text), other);
}
END_TEST

SUITE()
{
	EACH(a_request_has_a_kind, rows);
	EACH(a_request_may_be_cut_anywhere, rows);
	EACH(a_statement_is_told_by_its_table, statements);
	EACH(a_request_says_how_long_it_is, lengths);
	FIXTURE(setup, recording_end);
	TEST(a_servers_read_has_the_kind);
	TEST(no_more_is_looked_at_than_was_read);
	TEST(no_more_is_looked_at_than_was_asked_for);
	TEST(a_request_comes_in_parts);
	TEST(a_read_may_have_several);
	TEST(there_are_so_many_kinds);
}
