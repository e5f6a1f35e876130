/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of C++: test_variables.c says how. */
#include <string>

volatile long sink;

namespace db {
struct base {
	int id;
};
struct table : base {
	long rows;
	std::string name;
	__attribute__((noinline)) long scan(int from, const table &other) const;
	virtual ~table() = default;
};
long table::scan(int from, const table &other) const
{
	sink += from + other.rows;
	return rows + from;
}
template <typename T> __attribute__((noinline)) T twice(T value)
{
	sink += value;
	return value + value;
}
struct owner {
	long handle;
	owner(long from) : handle(from) {}
	owner(const owner &other) : handle(other.handle) { sink++; }
};
struct tag {
};
__attribute__((noinline)) owner returns_owner(int n, owner from, tag, long last)
{
	sink += from.handle + last;
	return owner(n);
}
int limit = 12;
__attribute__((noinline)) void by_address(table copy, int n)
{
	sink += copy.rows + n;
}
}

int main()
{
	db::table a, b;

	a.id = 3;
	a.rows = 1000;
	b.id = 4;
	b.rows = -2000;
	b.name = "short";
	sink += a.scan(7, b);
	sink += db::twice<int>(-8) + db::twice<long>(9);
	db::by_address(b, 21);
	sink += db::returns_owner(31, db::owner(32), db::tag(), 33).handle;
	return 0;
}
