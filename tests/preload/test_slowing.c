/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a trial does not make a hook's ops longer, or does more than that to a program. */
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include "target.h"

static char directory[PATH_MAX];
static pid_t program;
static int to_program, from_program;
static int trial;

static void pause_ms(long ms)
{
	struct timespec time = { 0, ms * 1000000 };

	nanosleep(&time, NULL);
}

static void start_program(void)
{
	int to[2], from[2];

	snprintf(directory, sizeof(directory), "/tmp/wcprof-slow-%d", getpid());
	ck_assert_int_eq(mkdir(directory, 0700), 0);
	ck_assert(pipe(to) == 0 && pipe(from) == 0);
	program = fork();
	if (program == 0) {
		setenv("WCPROF_DIR", directory, 1);
		setenv("LD_PRELOAD", build_path("libwcprof.so"), 1);
		dup2(to[0], STDIN_FILENO);
		dup2(from[1], STDOUT_FILENO);
		close(to[1]);
		close(from[0]);
		alarm(TARGET_SECONDS);
		execl(build_path("tests/targets/slowed"), "slowed", (char *)NULL);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	to_program = to[1];
	from_program = from[0];
}

static int end_program(void)
{
	int status;

	close(to_program);
	ck_assert_int_eq(waitpid(program, &status, 0), program);
	close(from_program);
	return status;
}

/* A child's socket may be there yet. */
static void remove_directory(void)
{
	char command[PATH_MAX + 10];

	snprintf(command, sizeof(command), "rm -r %s", directory);
	ck_assert_int_eq(system(command), 0);
}

/* The program's answer to a letter. */
static long tell(char letter)
{
	char answer[64];
	size_t used = 0;

	ck_assert_int_eq(write(to_program, &letter, 1), 1);
	while (used < sizeof(answer) - 1 && read(from_program, answer + used, 1) == 1)
		if (answer[used++] == '\n')
			break;
	answer[used] = '\0';
	ck_assert_int_eq(answer[0], letter);
	return atol(answer + 2);
}

static int connect_to(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	snprintf(address.sun_path, sizeof(address.sun_path), "%.80s/%d.sock", directory, program);
	for (;;) {
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
			return fd;
		close(fd);
		pause_ms(1);
	}
}

static void send_line(int fd, const char *line)
{
	ck_assert_int_eq(send(fd, line, strlen(line), MSG_NOSIGNAL), (ssize_t)strlen(line));
}

static json_t *ask(int fd, const char *line)
{
	static char answer[8192];
	size_t used = 0;
	json_t *value;

	send_line(fd, line);
	while (used < sizeof(answer) - 1 && read(fd, answer + used, 1) == 1)
		if (answer[used++] == '\n')
			break;
	answer[used] = '\0';
	ck_assert_msg(strncmp(answer, "OK ", 3) == 0, "%.100s: %s", line, answer);
	value = json_loads(answer + 3, 0, NULL);
	ck_assert_ptr_nonnull(value);
	return value;
}

static json_int_t count(const char *key)
{
	json_t *answer = ask(trial, "SLOW\n");
	json_int_t number = json_integer_value(json_object_get(answer, key));

	json_decref(answer);
	return number;
}

/* The lines of a dump. */
static json_t *dump(void)
{
	json_t *lines = json_array();
	int fd = connect_to();
	FILE *stream = fdopen(fd, "r");
	char *line = NULL;
	size_t room = 0;

	send_line(fd, "DUMP flush=0\n");
	while (getline(&line, &room, stream) > 0)
		json_array_append_new(lines, json_loads(line, 0, NULL));
	free(line);
	fclose(stream);
	return lines;
}

/* --- Keys, as the manual says ----------------------------------------------------------------- */

static uint64_t hash_bytes(uint64_t hash, const void *from, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ ((const unsigned char *)from)[i]) * 0x100000001b3u;
	return hash;
}

static uint64_t key_of(const json_t *stack, const json_t *modules)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (size_t i = 0; i < json_array_size(stack); i += 2) {
		json_int_t index = json_integer_value(json_array_get(stack, i));
		const json_t *module = index < 0 ? NULL : json_array_get(modules, (size_t)index);
		const char *path =
			module ? json_string_value(json_object_get(module, "path")) : "?";
		int64_t offset = 0;

		if (module)
			offset = json_integer_value(json_array_get(stack, i + 1)) +
				 json_integer_value(json_object_get(module, "base")) -
				 json_integer_value(json_object_get(module, "start"));
		hash = hash_bytes(hash, path, strlen(path) + 1);
		hash = hash_bytes(hash, &offset, sizeof(offset));
	}
	return hash ? hash : 1;
}

/* A rule of these words for each stack that there is. */
static void give_rules(const char *const words[], size_t word_count)
{
	json_t *lines = dump(), *header = json_array_get(lines, 0);
	json_t *stacks = json_object_get(header, "stacks");

	for (size_t i = 1; i < json_array_size(stacks); i++)
		for (size_t word = 0; word < word_count; word++) {
			char line[100];

			snprintf(line, sizeof(line), "RULES %s=%lx\n", words[word],
				 key_of(json_array_get(stacks, i),
					json_object_get(header, "modules")));
			json_decref(ask(trial, line));
		}
	json_decref(lines);
}

static const char letters[] = "swftkmrxpcyheoABCDE";

/* A trial with rules for all stacks that there are after each letter was done. */
static void setup(void)
{
	static const char *const words[] = { "call", "hold", "progress" };

	start_program();
	trial = connect_to();
	json_decref(ask(trial, "TRY ms=600000\n"));
	json_decref(ask(trial, "ENABLE holds=all\n"));
	for (const char *letter = letters; *letter; letter++)
		tell(*letter);
	give_rules(words, 3);
}

static void teardown(void)
{
	close(trial);
	ck_assert_int_eq(end_program(), 0);
	remove_directory();
}

/* Each op of a hook's is one that may be made longer, in the control arm just the same. */
static const struct {
	char letter;
	long answer;
	int slowed; /* ops and holds */
	int refused;
} rows[] = {
	/*  0 */ { 's', 0, 1, 0 },
	/*  1 */ { 'w', 1, 1, 0 },
	/*  2 */ { 'f', 1, 1, 0 },
	/*  3 */ { 't', 4096, 1, 0 },
	/*  4 */ { 'k', 1, 1, 0 },
	/*  5 */ { 'm', 0, 1, 0 },
	/*  6 */ { 'r', 0, 1, 0 },
	/*  7 */ { 'x', 0, 1, 0 },
	/*  8 */ { 'p', 0, 1, 0 },
	/*  9 */ { 'c', 1, 2, 0 },
	/* 10 */ { 'y', 3, 1, 0 },
	/* 11 */ { 'h', 0, 0, 1 }, /* in a signal handler */
};

/* Waits that another thread ends: one each. */
static const char waits[] = "ABCDE";

START_TEST(each_wait_asks)
{
	static const char *const word[] = { "wake" };

	json_decref(ask(trial, "RULES clear=1\n"));
	give_rules(word, 1);
	json_decref(ask(trial, "SLOW factor=1 ms=60000\n"));
	tell(waits[_i]);
	ck_assert_int_eq(count("slowed"), 1);
	json_decref(ask(trial, "SLOW factor=5 ms=60000\n"));
	ck_assert_int_eq(tell(waits[_i]), 1);
	ck_assert_int_eq(count("slowed"), 2);
	ck_assert_int_gt(count("extra_ns"), 0);
}
END_TEST

START_TEST(each_hook_asks)
{
	json_int_t slowed, refused;

	json_decref(ask(trial, "SLOW factor=1 ms=60000\n"));
	slowed = count("slowed");
	refused = count("refused");
	ck_assert_int_eq(tell(rows[_i].letter), rows[_i].answer);
	ck_assert_int_eq(count("slowed") - slowed, rows[_i].slowed);
	ck_assert_int_eq(count("refused") - refused, rows[_i].refused);
	ck_assert_int_eq(count("extra_ns"), 0);
}
END_TEST

/* The program's answers are those that it gives without. */
START_TEST(the_program_notices_nothing)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		json_decref(ask(trial, "SLOW factor=3 ms=60000\n"));
		ck_assert_int_eq(tell(rows[i].letter), rows[i].answer);
	}
	ck_assert_int_eq(tell('e'), 1);
	ck_assert_int_eq(tell('o'), 5);
	ck_assert_int_gt(count("extra_ns"), 0);
}
END_TEST

/* Whether recording is off again, and all as it was. */
static bool is_over(void)
{
	int fd = connect_to();
	json_t *answer = ask(fd, "STATUS\n"), *settings = json_object_get(answer, "settings");
	bool is_off = strcmp(json_string_value(json_object_get(answer, "recording")), "off") == 0;

	if (is_off)
		ck_assert_str_eq(json_string_value(json_object_get(settings, "holds")),
				 "contended");
	json_decref(answer);
	close(fd);
	return is_off;
}

/* The program's module in the header of a dump. */
static const json_t *module_of_program(const json_t *header)
{
	const json_t *modules = json_object_get(header, "modules");

	for (size_t i = 0; i < json_array_size(modules); i++) {
		const json_t *module = json_array_get(modules, i);

		if (strstr(json_string_value(json_object_get(module, "path")), "targets/slowed"))
			return module;
	}
	ck_abort_msg("the program is no module");
	return NULL;
}

static void give_range(void)
{
	json_t *lines = dump();
	const json_t *module = module_of_program(json_array_get(lines, 0));
	const char *path = json_string_value(json_object_get(module, "path"));
	long start = (long)json_integer_value(json_object_get(module, "start"));
	char line[120];

	snprintf(line, sizeof(line), "RULES clear=1 range=%lx:%lx:%lx\n",
		 hash_bytes(0xcbf29ce484222325u, path, strlen(path)), tell('<') - start,
		 tell('>') - start);
	json_decref(ask(trial, line));
	json_decref(lines);
}

/* One run's CPU time, of which the trial says how much is extra. Another run's CPU time is no
 * measure: beside a busy machine the same work takes more. Samples stand for four milliseconds at
 * most. */
static void check_factor(long factor)
{
	json_int_t before_ns, extra_us;
	long all_us, usual_us;
	char line[60];

	snprintf(line, sizeof(line), "SLOW factor=%ld ms=60000\n", factor);
	json_decref(ask(trial, line));
	before_ns = count("extra_ns");
	all_us = tell('u');
	extra_us = (count("extra_ns") - before_ns) / 1000;
	usual_us = all_us - (long)extra_us;
	if (getenv("SHOW"))
		fprintf(stderr, "factor %ld: %ld us and %ld us extra\n", factor, usual_us,
			(long)extra_us);
	ck_assert_int_gt(extra_us, (factor - 1) * usual_us / 2);
	ck_assert_int_lt(extra_us, (factor - 1) * usual_us * 3 / 2);
}

START_TEST(code_takes_longer)
{
	json_int_t extra_ns;

	json_decref(ask(trial, "SET sample_hz=1000\n"));
	give_range();
	json_decref(ask(trial, "SLOW factor=1 ms=60000\n"));
	/* The sampler has found the thread. */
	while (count("slowed") == 0)
		tell('u');
	ck_assert_int_eq(count("extra_ns"), 0);
	check_factor(4);
	check_factor(2);
	extra_ns = count("extra_ns");
	close(trial);
	while (!is_over())
		pause_ms(1);
	tell('u');
	trial = connect_to();
	json_decref(ask(trial, "TRY ms=600000\n"));
	ck_assert_int_eq(count("extra_ns"), extra_ns);
}
END_TEST

/* By the record, as the report will have it. */
START_TEST(a_sleep_takes_twice_as_long)
{
	json_t *lines, *last = NULL;

	json_decref(ask(trial, "SLOW factor=2 ms=60000\n"));
	tell('s');
	lines = dump();
	for (size_t i = 1; i < json_array_size(lines); i++) {
		json_t *event = json_array_get(lines, i);
		const char *kind = json_string_value(json_object_get(event, "k"));

		if (kind && strcmp(kind, "sleep") == 0 &&
		    (!last || number_of(event, "s") > number_of(last, "s")))
			last = event;
	}
	ck_assert_ptr_nonnull(last);
	ck_assert_int_ge(number_of(last, "d") - number_of(last, "s"), 3990000);
	ck_assert_int_ge(count("extra_ns"), 1990000);
	json_decref(lines);
}
END_TEST

START_TEST(the_client_is_killed)
{
	pid_t pid;

	json_decref(ask(trial, "SLOW factor=10 ms=60000\n"));
	pid = fork();
	if (pid == 0)
		for (;;)
			pause();
	/* It alone has the connection now. */
	close(trial);
	tell('s');
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	while (!is_over())
		pause_ms(1);
	ck_assert_int_eq(tell('s'), 0);
	trial = connect_to();
	json_decref(ask(trial, "TRY ms=1000\n"));
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	EACH(each_hook_asks, rows);
	LOOP(each_wait_asks, 0, strlen(waits));
	TEST(the_program_notices_nothing);
	TEST(code_takes_longer);
	TEST(a_sleep_takes_twice_as_long);
	TEST(the_client_is_killed);
}
