/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, code is said to be of a package that it is not of. */
#include "names/dpkg.h"

#include "tree.h"

static void setup(void)
{
	tree_begin();
	tree_file("/var/lib/dpkg/info/libc6:amd64.list",
		  "/.\n/lib\n/lib/x86_64-linux-gnu/libc.so.6\n");
	tree_file("/var/lib/dpkg/info/bash.list", "/bin/bash\n/usr/share/doc/bash\n");
	tree_file("/var/lib/dpkg/info/coreutils.list", "/usr/bin/env\n/usr/bin/pg_config\n");
	tree_file("/var/lib/dpkg/info/postgresql-common.list", "/usr/bin/pg_config\n");
	tree_file("/var/lib/dpkg/info/ours.list", "/opt/tool\n");
	tree_file("/var/lib/dpkg/info/bash.md5sums", "/usr/bin/none\n");
	tree_file("/var/lib/dpkg/diversions",
		  "/usr/bin/pg_config\n/usr/bin/pg_config.libpq-dev\npostgresql-common\n"
		  "/opt/tool\n/opt/tool.real\n:\n");
	tree_file("/var/lib/dpkg/status",
		  "Package: libc6\nStatus: install ok installed\nVersion: 2.36-9\n\n"
		  "Package: bash\nVersion: 5.2-1\n\nPackage: coreutils\nVersion: 9.1-1\n\n"
		  "Package: postgresql-common\nVersion: 248\n");
}

static const struct {
	const char *path, *name, *version;
} rows[] = {
	/* 0: the program sees it in /usr */
	{ "/usr/lib/x86_64-linux-gnu/libc.so.6", "libc6", "2.36-9" },
	/* 1 */ { "/lib/x86_64-linux-gnu/libc.so.6", "libc6", "2.36-9" },
	/* 2 */ { "/usr/bin/bash", "bash", "5.2-1" },
	/* 3: the list has it in /usr */ { "/bin/env", "coreutils", "9.1-1" },
	/* 4: of the package that diverted the other one's */
	{ "/usr/bin/pg_config", "postgresql-common", "248" },
	/* 5: where that is now */ { "/usr/bin/pg_config.libpq-dev", "coreutils", "9.1-1" },
	/* 6: the administrator's own */ { "/opt/tool", NULL, NULL },
	/* 7: without a version */ { "/opt/tool.real", "ours", NULL },
	/* 8 */ { "/opt/other", NULL, NULL },
	/* 9: no list */ { "/usr/bin/none", NULL, NULL },
};

static void check(const char *text, const char *wanted)
{
	ck_assert_msg(text && wanted ? strcmp(text, wanted) == 0 : text == wanted, "%s, not %s",
		      text ? text : "none", wanted ? wanted : "none");
}

START_TEST(files_are_of_their_package)
{
	struct dpkg_file file = { .path = rows[_i].path };
	struct dpkg *dpkg = dpkg_find(&file, 1, tree_root);
	ck_assert_ptr_nonnull(dpkg);
	check(file.name, rows[_i].name);
	check(file.version, rows[_i].version);
	dpkg_free(dpkg);
}
END_TEST

START_TEST(many_are_looked_up_together)
{
	enum { COUNT = sizeof(rows) / sizeof(rows[0]) };
	struct dpkg_file files[2 * COUNT];
	for (size_t i = 0; i < 2 * COUNT; i++)
		files[i].path = rows[i % COUNT].path;
	struct dpkg *dpkg = dpkg_find(files, 2 * COUNT, tree_root);
	for (size_t i = 0; i < 2 * COUNT; i++)
		check(files[i].name, rows[i % COUNT].name);
	dpkg_free(dpkg);
}
END_TEST

START_TEST(a_system_without_dpkg_has_no_lists)
{
	struct dpkg_file file = { .path = "/usr/bin/bash" };
	ck_assert_ptr_null(dpkg_find(&file, 1, "/nonexistent"));
	ck_assert_ptr_null(file.name);
	dpkg_free(NULL);
}
END_TEST

SUITE()
{
	FIXTURE(setup, tree_end);
	EACH(files_are_of_their_package, rows);
	TEST(many_are_looked_up_together);
	TEST(a_system_without_dpkg_has_no_lists);
}
