// SPDX-License-Identifier: Apache-2.0
// Runs a query in ClickHouse, and prints its rows: ask_clickhouse.mjs FOLDER QUERY
import { createRequire } from "node:module";

const [modules, query] = process.argv.slice(2);
console.log(createRequire(modules + "/")("chdb").query(query, "JSONEachRow").trim());
