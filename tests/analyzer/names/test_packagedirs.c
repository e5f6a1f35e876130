/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a language's packages are taken for the program's own code, or have no version. */
#include "names/packagedirs.h"

#include "tree.h"

static void setup(void)
{
	tree_begin();
	tree_file("/v/lib/python3/site-packages/numpy-1.26.4.dist-info/RECORD", "");
	tree_file("/v/lib/python3/dist-packages/Cython_Ext-3.0.egg-info", "");
	tree_file("/app/node_modules/@x/bcrypt/package.json", "{\n\"version\": \"5.1.0\"\n}\n");
	tree_file("/jdk/release", "IMPLEMENTOR=\"x\"\nJAVA_VERSION=\"17.0.9\"\n");
}

static const struct {
	const char *path, *name, *version;
	enum package_sort sort;
} rows[] = {
	/* 0 */ { "/v/lib/python3/site-packages/numpy/core/_multiarray.so", "numpy", "1.26.4",
		  PACKAGE_PYTHON },
	/* 1 */
	{ "/v/lib/python3/site-packages/numpy.libs/libgfortran.so.5", "numpy", "1.26.4",
	  PACKAGE_PYTHON },
	/* 2 */
	{ "/v/lib/python3/dist-packages/cython_ext.cpython-311.so", "Cython_Ext", "3.0",
	  PACKAGE_PYTHON },
	/* 3 */ { "/v/lib/python3/site-packages/other/a.so", "other", "", PACKAGE_PYTHON },
	/* 4 */ { "/app/node_modules/@x/bcrypt/lib/a.node", "@x/bcrypt", "5.1.0", PACKAGE_NODE },
	/* 5 */ { "/app/node_modules/a/node_modules/@x/b/c.node", "@x/b", "", PACKAGE_NODE },
	/* 6 */
	{ "/var/lib/gems/3.1.0/gems/pg-query-4.2.3/lib/pg.so", "pg-query", "4.2.3", PACKAGE_GEM },
	/* 7 */
	{ "/var/lib/gems/3.1.0/extensions/x86_64-linux/3.1.0/bigdecimal-3.1/a.so", "bigdecimal",
	  "3.1", PACKAGE_GEM },
	/* 8 */ { "/jdk/lib/server/libjvm.so", "jdk", "17.0.9", PACKAGE_JDK },
	/* 9 */ { "/opt/app/lib/libown.so", "", "", PACKAGE_UNKNOWN },
	/* 10 */ { "/opt/app/server", "", "", PACKAGE_UNKNOWN },
	/* 11: nothing behind it */ { "/opt/site-packages/", "", "", PACKAGE_UNKNOWN },
	/* 12 */ { "/opt/gems/thing/a.so", "", "", PACKAGE_UNKNOWN },
};

START_TEST(directories_have_their_rules)
{
	struct package_dir found;
	bool is_found = package_dir_find(&found, rows[_i].path, tree_root);
	ck_assert_int_eq(is_found, rows[_i].sort != PACKAGE_UNKNOWN);
	ck_assert_int_eq(found.sort, rows[_i].sort);
	ck_assert_str_eq(found.name, rows[_i].name);
	ck_assert_str_eq(found.version, rows[_i].version);
}
END_TEST

START_TEST(long_paths_are_bounded)
{
	static char path[3 * PATH_MAX];
	struct package_dir found;
	memset(path, 'a', sizeof(path) - 1);
	memcpy(path, "/site-packages/", 15);
	ck_assert(package_dir_find(&found, path, tree_root));
	ck_assert_uint_eq(strlen(found.name), JSON_TEXTS_BYTES - 1);
}
END_TEST

SUITE()
{
	FIXTURE(setup, tree_end);
	EACH(directories_have_their_rules, rows);
	TEST(long_paths_are_bounded);
}
