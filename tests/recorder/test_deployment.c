/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, rows of a service are another one's, or reading what it publishes harms it. */
#include "deployment.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "suite.h"

static struct arena *arena;
static const char *variables[5]; /* in the order of names */

static const char *get(const char *name)
{
	static const char *const names[] = { "DD_SERVICE", "DD_VERSION", "DD_ENV",
					     "OTEL_RESOURCE_ATTRIBUTES", "OTEL_SERVICE_NAME" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return variables[i];
	ck_abort_msg("%s", name);
	return NULL;
}

static void setup(void)
{
	arena = aligned_alloc(_Alignof(struct arena), sizeof(*arena));
	ck_assert_ptr_nonnull(arena);
	memset(arena, 0, sizeof(*arena));
	arena->pid = (uint32_t)getpid();
}

static void teardown(void)
{
	free(arena);
}

static const struct {
	const char *variables[5];
	const char *name, *version, *environment, *instance;
} rows[] = {
	/* 0 */ { { NULL }, "", "", "", "" },
	/* 1 */ { { "shop", "1.2", "prod" }, "shop", "1.2", "prod", "" },
	/* 2: OpenTelemetry's are the surer ones */
	{ { "shop", "1.2", "prod",
	    "service.version=1.3,deployment.environment.name=test,"
	    "service.instance.id=i",
	    "front" },
	  "front",
	  "1.3",
	  "test",
	  "i" },
	/* 3 */
	{ { NULL, NULL, NULL, "a=b,service.name=x%2Cy%20z%4,c", NULL }, "x,y z%4", "", "", "" },
	/* 4 */ { { NULL, NULL, NULL, ",,=,service.name,service.version=", "" }, "", "", "", "" },
	/* 5 */ { { NULL, NULL, NULL, "service.name=%", NULL }, "%", "", "", "" },
};

START_TEST(the_environment_names_it)
{
	memcpy(variables, rows[_i].variables, sizeof(variables));
	deployment_start(get);
	deployment_begin(arena);
	ck_assert_str_eq(arena->deployment.name, rows[_i].name);
	ck_assert_str_eq(arena->deployment.version, rows[_i].version);
	ck_assert_str_eq(arena->deployment.environment, rows[_i].environment);
	ck_assert_str_eq(arena->deployment.instance, rows[_i].instance);
}
END_TEST

/* As a tracer has it: the header, and the message behind it. */
struct published {
	char signature[8];
	uint32_t version;
	uint32_t bytes;
	uint64_t published_ns;
	uint64_t message;
	uint8_t rest[4064];
};

static const uint8_t message[] = "\x0a\x18\x0a\x16\x0a\x0cservice.name\x12\x06\x0a\x04shop";

static struct published published;

static void publish(void)
{
	published = (struct published){ .signature = "OTEL_CTX",
					.version = 2,
					.bytes = sizeof(message) - 1,
					.published_ns = 1,
					.message = (uint64_t)(uintptr_t)published.rest };
	memcpy(published.rest, message, sizeof(message));
}

static void look(const char *path)
{
	const struct mapping mapping = { .start = (uint64_t)(uintptr_t)&published, .path = path };

	deployment_look(arena, &mapping);
}

static const char *const paths[] = { "/memfd:OTEL_CTX (deleted)", "[anon_shmem:OTEL_CTX]",
				     "[anon:OTEL_CTX]" };

START_TEST(the_tracer_names_it)
{
	publish();
	strcpy(arena->deployment.version, "7");
	look("/memfd:other");
	ck_assert_str_eq(arena->deployment.name, "");
	look(paths[_i]);
	ck_assert_str_eq(arena->deployment.name, "shop");
	ck_assert_str_eq(arena->deployment.version, "7");
}
END_TEST

static void another_version(void)
{
	published.version = 3;
}

static void being_changed(void)
{
	published.published_ns = 0;
}

static void another_signature(void)
{
	published.signature[0] = 'o';
}

static void gone(void)
{
	published.message = 8;
}

static void too_long(void)
{
	published.bytes = UINT32_MAX;
	published.message = (uint64_t)(uintptr_t)sbrk(0) - 4;
}

static void (*const faults[])(void) = { another_version, being_changed, another_signature, gone,
					too_long };

START_TEST(other_things_are_not_read)
{
	publish();
	faults[_i]();
	look(paths[0]);
	ck_assert_str_eq(arena->deployment.name, "");
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	EACH(the_environment_names_it, rows);
	EACH(the_tracer_names_it, paths);
	EACH(other_things_are_not_read, faults);
}
