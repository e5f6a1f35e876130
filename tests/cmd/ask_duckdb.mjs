// SPDX-License-Identifier: Apache-2.0
// Runs files of SQL in DuckDB, and prints the rows of the last statement of each: ask_duckdb.mjs FOLDERS FILE...
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [modules, folders, ...files] = process.argv.slice(2);
const { DuckDBInstance } = createRequire(modules + "/")("@duckdb/node-api");
const connection = await (await DuckDBInstance.create(":memory:")).connect();
await connection.run(`SET VARIABLE folders = '${folders}'`);
for (const file of files) {
	const reader = await connection.runAndReadAll(readFileSync(file, "utf8"));
	console.log(JSON.stringify(reader.getRowObjectsJson()));
}
